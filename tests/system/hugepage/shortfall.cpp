// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Builds that fail for want of pages, or because somebody stops them: one clear error, and nothing left behind.
#include <mrzone/hugepage.hpp>

#include "support/footprint.hpp"
#include "support/pool_guard.hpp"
#include "support/require.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <optional>
#include <stdexcept>

#include <unistd.h>

namespace mrz::test {
namespace {

class Shortfall : public testing::Test {
  protected:
    void SetUp() override
    {
        MRZ_REQUIRE(geteuid() == 0, "needs root, to change a pool");
        guard.emplace(2_MiB, 64);
        {
            const Window first = Window::build({.size = 2_MiB});
        } // the reservation, which stays
        before = Footprint::now();
    }
    void TearDown() override
    {
        if (guard) {
            EXPECT_EQ(Footprint::now(), before);
        }
    }
    static Error failure(const WindowOptions& options)
    {
        try {
            Window::build(options);
        } catch (const Error& error) {
            return error;
        }
        return Error{1, {.what = "no error", .limit = {}, .remedy = {}}};
    }

    std::optional<PoolGuard> guard;
    Footprint before;
};

TEST_F(Shortfall, TooFewPagesAreSaidBeforeAnyIsTouched)
{
    bool started = false;
    const Error error = failure({.size = 128_MiB, .progress = [&](const BuildProgress&) { started = true; }});
    EXPECT_EQ(error.error_number(), ENOMEM);
    EXPECT_EQ(error.cause().trouble, Trouble::hugepages);
    EXPECT_EQ(error.cause().present, 64U);
    EXPECT_EQ(error.cause().need, 65U);
    EXPECT_FALSE(started);
}

TEST_F(Shortfall, TheLastPageOfAPoolCanBeHad)
{
    const Window window = Window::build({.size = 126_MiB});
    EXPECT_EQ(guard->free(), 0U);
}

TEST_F(Shortfall, APoolThatRunsDryHalfWayIsSaidAndWhatWasTakenIsBack)
{
    for (const unsigned threads : {1U, 2U}) {
        std::optional<TakenPages> thief;
        const Error error = failure({.size = 100_MiB, .threads = threads, .progress = [&](const BuildProgress& at) {
                                         if (at.taken == 0 && !thief)
                                             thief.emplace(2_MiB, 40);
                                     }});
        EXPECT_EQ(error.error_number(), ENOSPC);
        EXPECT_EQ(error.cause().trouble, Trouble::hugepages);
        EXPECT_EQ(error.cause().present, 0U);
        EXPECT_EQ(error.cause().need, 51U - 24) << "what was still to come";
        EXPECT_EQ(guard->free(), 24U);
    }
}

TEST_F(Shortfall, WantOfMorePagesToChooseFromIsNoFailure)
{
    scramble_pool(2_MiB);
    std::optional<TakenPages> thief;
    const Window window = Window::build({.size = 64_MiB, .progress = [&](const BuildProgress& at) {
                                             // When more are looked at, there are three left.
                                             if (at.wanted > 66_MiB && !thief)
                                                 thief.emplace(2_MiB, read_pool(2_MiB).free - 3);
                                         }});
    EXPECT_TRUE(window.frames_known());
    thief.reset();
    EXPECT_EQ(guard->free(), 64U - 33);
}

TEST_F(Shortfall, AProgressThatThrowsUndoesTheBuildAndGoesOn)
{
    struct Stop : std::runtime_error {
        using std::runtime_error::runtime_error;
    };
    for (const unsigned threads : {1U, 2U})
        for (const std::size_t at_least : {std::size_t{0}, std::size_t{1}}) {
            EXPECT_THROW(Window::build({.size = 100_MiB,
                                        .threads = threads,
                                        .progress =
                                            [&](const BuildProgress& at) {
                                                if (at.taken >= at_least)
                                                    throw Stop{"enough"};
                                            }}),
                         Stop);
            EXPECT_EQ(Footprint::now(), before);
        }
}

TEST_F(Shortfall, WhatIsReservedByOthersIsNotTaken)
{
    // A mapping that nobody has touched: the pages are free and promised.
    void* promised = mmap(nullptr, 40_MiB, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | (21 << MAP_HUGE_SHIFT), -1, 0);
    ASSERT_NE(promised, MAP_FAILED);
    const Error error = failure({.size = 100_MiB});
    EXPECT_EQ(error.cause().trouble, Trouble::hugepages);
    EXPECT_EQ(error.cause().present, 44U);
    {
        const Window window = Window::build({.size = 60_MiB}); // looks at more, but not at those
        static_cast<volatile char*>(promised)[38_MiB] = 1;
    }
    munmap(promised, 40_MiB);
}

} // namespace
} // namespace mrz::test
