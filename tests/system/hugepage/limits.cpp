// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Limits of the process and of its control group, each met for real in a child.
#include <mrzone/hugepage.hpp>

#include "support/cgroup_guard.hpp"
#include "support/footprint.hpp"
#include "support/in_child.hpp"
#include "support/pool_guard.hpp"
#include "support/require.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include <grp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

namespace mrz::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class ProcessLimits : public testing::Test {
  protected:
    void SetUp() override { MRZ_REQUIRE(geteuid() == 0, "needs root, to change a pool and to lower limits"); }
};
using CgroupLimits = ProcessLimits;

Error failure(const WindowOptions& options)
{
    try {
        Window::build(options);
    } catch (const Error& error) {
        return error;
    }
    return Error{1, {.what = "no error", .limit = {}, .remedy = {}}};
}

TEST_F(CgroupLimits, OnUsageAndOnReservationsRefuseBeforeAnythingIsTaken)
{
    const auto hierarchy = CgroupGuard::hierarchy();
    MRZ_REQUIRE(hierarchy.has_value(), "no version 2 control groups with hugetlb on this machine");
    const PoolGuard guard{2_MiB, 64};
    for (const std::string file : {"hugetlb.2MB.max", "hugetlb.2MB.rsvd.max"}) {
        const CgroupGuard group{*hierarchy};
        group.set(file, 32_MiB);
        in_child([&] {
            group.enter();
            const Footprint before = Footprint::now();
            bool started = false;
            const Error error = failure({.size = 32_MiB, .progress = [&](const BuildProgress&) { started = true; }});
            EXPECT_EQ(error.error_number(), ENOSPC);
            EXPECT_EQ(error.cause().trouble, Trouble::cgroup);
            EXPECT_THAT(error.cause().limit, HasSubstr(group.path(file)));
            EXPECT_EQ(error.cause().present, 32_MiB);
            EXPECT_EQ(error.cause().need, 34_MiB);
            EXPECT_FALSE(started);
            EXPECT_EQ(Footprint::now(), before);
            // Exactly what the limit allows can be had; to look at more is not worth a failure.
            const Window window = Window::build({.size = 30_MiB});
            EXPECT_EQ(window.block().size(), 30_MiB);
        });
        EXPECT_EQ(guard.free(), 64U);
    }
}

TEST_F(CgroupLimits, LoweredWhilePagesAreTakenAreTheCauseThatIsGiven)
{
    const auto hierarchy = CgroupGuard::hierarchy();
    MRZ_REQUIRE(hierarchy.has_value(), "no version 2 control groups with hugetlb on this machine");
    const PoolGuard guard{2_MiB, 64};
    for (const std::string file : {"hugetlb.2MB.max", "hugetlb.2MB.rsvd.max"}) {
        const CgroupGuard group{*hierarchy};
        in_child([&] {
            group.enter();
            const Error error = failure({.size = 62_MiB, .progress = [&](const BuildProgress& at) {
                                             if (at.taken == 0)
                                                 group.set(file, 20_MiB);
                                         }});
            EXPECT_EQ(error.cause().trouble, Trouble::cgroup) << error.what();
            EXPECT_THAT(error.cause().limit, HasSubstr(group.path(file)));
        });
        EXPECT_EQ(guard.free(), 64U);
    }
}

TEST_F(CgroupLimits, ThatAllowExactlyTheWindowDoNotChargeItsMappingAgain)
{
    const auto hierarchy = CgroupGuard::hierarchy();
    MRZ_REQUIRE(hierarchy.has_value(), "no version 2 control groups with hugetlb on this machine");
    const PoolGuard guard{2_MiB, 64};
    const CgroupGuard group{*hierarchy};
    group.set("hugetlb.2MB.rsvd.max", 32_MiB);
    group.set("hugetlb.2MB.max", 32_MiB);
    in_child([&] {
        group.enter();
        for (int round = 0; round < 3; ++round) // what is given back is uncharged
            Window::build({.size = 30_MiB}).block()[0] = std::byte{1};
    });
}

void become_nobody()
{
    constexpr id_t nobody = 65534;
    ASSERT_EQ(setgroups(0, nullptr), 0);
    ASSERT_EQ(setgid(nobody), 0);
    ASSERT_EQ(setuid(nobody), 0);
}

TEST_F(ProcessLimits, WithoutPermissionToReadFramesAWindowWorksAndWhatIsLostIsSaidOnce)
{
    const PoolGuard guard{2_MiB, 64};
    // A process that changed its user may not open its own pagemap; an ordinary one reads zeroes.
    for (const bool ordinary : {false, true})
        in_child([&] {
            become_nobody();
            if (ordinary)
                prctl(PR_SET_DUMPABLE, 1);
            std::vector<std::string> said;
            set_log_sink([&](Severity, std::string_view line) { said.emplace_back(line); });
            {
                const Window window = Window::build({.size = 32_MiB});
                const Window another = Window::build({.size = 32_MiB, .threads = 2});
                EXPECT_FALSE(window.frames_known());
                EXPECT_TRUE(window.frames().empty());
                EXPECT_EQ(window.layout().length(), 32_MiB);
                EXPECT_EQ(window.plan({}).mtt_entries(), 16U);
                EXPECT_EQ(reinterpret_cast<std::uintptr_t>(window.block().data()) % 2_MiB, 0U);
                EXPECT_EQ(window.map().pieces.size(), 1U);
                for (std::size_t page = 0; page < 17; ++page)
                    another.address()[page * 2_MiB] = std::byte{1};
                EXPECT_EQ(read_pool(2_MiB).free, 64U - 34);
            }
            EXPECT_EQ(read_pool(2_MiB).free, 64U);
            std::size_t hidden = 0;
            for (const std::string& line : said)
                hidden += line.find("hidden") != std::string::npos ? 1 : 0;
            EXPECT_EQ(hidden, 1U);
            set_log_sink({});
        });
}

//! Makes mappings until only \p left more are allowed, or one less.
void use_up_mappings(std::uint64_t left)
{
    const std::uint64_t max = *host::mappings().max.value();
    void* const memory = mmap(nullptr, max * 4_KiB, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    ASSERT_NE(memory, MAP_FAILED);
    // Every second page of another kind: each adds two mappings.
    const std::uint64_t pairs = (max - *host::mappings().used - left + 1) / 2;
    for (std::uint64_t pair = 0; pair < pairs; ++pair)
        ASSERT_EQ(mprotect(static_cast<std::byte*>(memory) + (2 * pair + 1) * 4_KiB, 4_KiB, PROT_READ), 0);
}

TEST_F(ProcessLimits, TheMappingLimitIsNamedBeforeAnythingIsTaken)
{
    MRZ_REQUIRE(host::mappings().max.value().value_or(1U << 30) < 300000, "vm.max_map_count is too high to reach");
    const PoolGuard guard{2_MiB, 64};
    in_child([&] {
        use_up_mappings(2);
        bool started = false;
        const Error error = failure({.size = 64_MiB, .progress = [&](const BuildProgress&) { started = true; }});
        EXPECT_EQ(error.error_number(), ENOMEM);
        EXPECT_EQ(error.cause().trouble, Trouble::invalid);
        EXPECT_THAT(error.cause().limit, HasSubstr("vm.max_map_count"));
        EXPECT_THAT(error.cause().remedy, HasSubstr("sysctl vm.max_map_count="));
        EXPECT_EQ(error.cause().present, host::mappings().max.value());
        EXPECT_FALSE(started);
    });
}

//! Takes every page of the pool, and gives back every second of them, in physical order.
TakenPages hold_every_second_page(std::uint64_t pages)
{
    TakenPages all{2_MiB, pages};
    const std::vector<DmaAddress> frames = all.frames();
    std::vector<std::size_t> order(pages);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return frames[a] < frames[b]; });
    std::vector<std::size_t> given;
    for (std::size_t i = 0; i < pages; i += 2)
        given.push_back(order[i]);
    std::shuffle(given.begin(), given.end(), std::mt19937{1});
    all.give_back(given);
    return all;
}

TEST_F(ProcessLimits, APoolTooScatteredForTheMappingLimitIsSortedFirstAndThatIsSaid)
{
    MRZ_REQUIRE(host::mappings().max.value().value_or(1U << 30) < 300000, "vm.max_map_count is too high to reach");
    const PoolGuard guard{2_MiB, 1};
    MRZ_REQUIRE(add_a_whole_gigabyte(), "the kernel gives no page of 1 GiB, or does not demote it");
    in_child([&] {
        {
            const Window first = Window::build({.size = 2_MiB});
        }
        scramble_pool(2_MiB);
        std::vector<std::string> said;
        set_log_sink([&](Severity, std::string_view line) { said.emplace_back(line); });
        const std::uint64_t free = guard.free();
        use_up_mappings(32);
        {
            const Window window = Window::build({.size = 600_MiB, .threads = 2});
            EXPECT_LT(window.map().pieces.size(), 16U);
            EXPECT_EQ(guard.free(), free - 301);
            const std::span<std::byte> block = window.block();
            std::fill(block.begin(), block.end(), std::byte{7});
        }
        ASSERT_EQ(said.size(), 1U);
        EXPECT_THAT(said[0], AllOf(HasSubstr("vm.max_map_count"), HasSubstr("sorted")));
        EXPECT_EQ(guard.free(), free);
    });
}

TEST_F(ProcessLimits, PagesOfWhichNoTwoAreAdjacentAreFewMappingsInASortedPool)
{
    MRZ_REQUIRE(host::mappings().max.value().value_or(1U << 30) < 300000, "vm.max_map_count is too high to reach");
    const PoolGuard guard{2_MiB, 128};
    in_child([&] {
        {
            const Window first = Window::build({.size = 2_MiB});
        }
        const TakenPages held = hold_every_second_page(128);
        use_up_mappings(16);
        const Footprint before = Footprint::now();
        {
            const Window window = Window::build({.size = 120_MiB});
            EXPECT_GT(window.layout().extents().size(), 20U);
            EXPECT_LT(window.map().pieces.size(), 16U);
            EXPECT_EQ(guard.free(), 3U);
        }
        EXPECT_EQ(Footprint::now(), before);
    });
    EXPECT_EQ(guard.free(), 128U);
}

TEST_F(ProcessLimits, TheFileSizeLimitIsAnErrorAndNotItsSignal)
{
    const PoolGuard guard{2_MiB, 64};
    in_child([&] {
        const rlimit limit{.rlim_cur = 16_MiB, .rlim_max = 16_MiB};
        ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
        const Error error = failure({.size = 64_MiB});
        EXPECT_EQ(error.error_number(), EFBIG);
        EXPECT_THAT(error.cause().remedy, HasSubstr("ulimit -f"));
        EXPECT_EQ(Window::build({.size = 8_MiB, .surplus = Surplus::percent(100)}).block().size(), 8_MiB);
    });
}

TEST_F(ProcessLimits, AnAddressSpaceLimitIsAnError)
{
    const PoolGuard guard{2_MiB, 64};
    in_child([&] {
        const rlimit limit{.rlim_cur = 8_GiB, .rlim_max = 8_GiB};
        ASSERT_EQ(setrlimit(RLIMIT_AS, &limit), 0);
        const Error error = failure({.size = 64_MiB});
        EXPECT_EQ(error.error_number(), ENOMEM);
        EXPECT_EQ(error.cause().trouble, Trouble::invalid);
        EXPECT_THAT(error.cause().remedy, HasSubstr("ulimit -v"));
        EXPECT_EQ(guard.free(), 64U);
    });
}

} // namespace
} // namespace mrz::test
