// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! What a process may pin, met for real in a child.
#include <mrzone/host.hpp>
#include <mrzone/region.hpp>

#include "support/cgroup_guard.hpp"
#include "support/in_child.hpp"
#include "support/lowered.hpp"
#include "support/mapping.hpp"
#include "support/pool_guard.hpp"
#include "support/require.hpp"
#include "support/run_program.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

namespace mrz::test {
namespace {

using testing::HasSubstr;

std::uint64_t held()
{
    const host::LockedMemory memory = host::locked_memory();
    return memory.pinned.value_or(0) + memory.locked.value_or(0);
}

class SoftLimits : public testing::Test {
  protected:
    void SetUp() override { MRZ_REQUIRE(geteuid() == 0, "needs root, to lower limits and to become another user"); }
};

void expect_limit_explained(const Domain& domain, std::span<std::byte> memory, rlim_t limit)
{
    const std::uint64_t before = held();
    try {
        const Region region = domain.register_memory(memory);
        ADD_FAILURE() << "it was registered";
    } catch (const Error& error) {
        EXPECT_EQ(error.error_number(), ENOMEM) << error.what();
        EXPECT_EQ(error.cause().trouble, Trouble::locked_memory);
        EXPECT_EQ(error.cause().present, limit);
        EXPECT_EQ(error.cause().need, before + memory.size());
        EXPECT_THAT(error.cause().limit, HasSubstr(format_size(before) + " pinned"));
        // With room for the adapter's rings, which are charged too.
        EXPECT_THAT(error.cause().remedy,
                    HasSubstr("ulimit -l " + std::to_string((before + memory.size() + 64_KiB) / 1024)));
    }
    EXPECT_EQ(held(), before);
}

TEST_F(SoftLimits, OnLockedMemoryAreExplainedAndNothingStaysPinned)
{
    in_child([] {
        const Mapping memory{12_MiB};
        become_somebody(8_MiB);
        const Domain domain = Domain::open("soft");
        expect_limit_explained(domain, memory.bytes(), 8_MiB);
        {
            const Region half = domain.register_memory(memory.bytes().first(4_MiB));
            EXPECT_EQ(held(), 4_MiB);
            expect_limit_explained(domain, memory.bytes().last(8_MiB), 8_MiB);
            EXPECT_EQ(held(), 4_MiB);
        }
        EXPECT_EQ(held(), 0U);
    });
}

TEST_F(SoftLimits, OnLockedMemoryNeverNeedLessThanTheyAre)
{
    // The adapter's own rings are charged where nobody sees it: what this process has and wants fits, and yet does
    // not.
    in_child([] {
        const Mapping memory{8_MiB};
        become_somebody(8_MiB);
        const Domain domain = Domain::open("soft");
        try {
            const Region region = domain.register_memory(memory.bytes());
            MRZ_REQUIRE(false, "this kernel does not charge rings");
        } catch (const Error& error) {
            EXPECT_EQ(error.cause().trouble, Trouble::locked_memory) << error.what();
            EXPECT_GT(error.cause().need.value_or(0), error.cause().present.value_or(0)) << error.what();
        }
    });
}

TEST_F(SoftLimits, OnLockedMemoryAreNamedWhereNotEvenTheAdapterCanBeOpened)
{
    in_child([] {
        become_somebody(0);
        try {
            const Domain domain = Domain::open("soft");
            MRZ_REQUIRE(false, "this kernel does not charge rings");
        } catch (const Error& error) {
            EXPECT_EQ(error.error_number(), ENOMEM);
            EXPECT_EQ(error.cause().trouble, Trouble::locked_memory) << error.what();
            EXPECT_THAT(error.cause().remedy, HasSubstr("ulimit -l"));
        }
    });
}

TEST_F(SoftLimits, OnLockedMemoryCountHugepagesToo)
{
    const PoolGuard guard{2_MiB, 8};
    in_child([] {
        const Mapping memory{16_MiB, MAP_HUGETLB};
        become_somebody(8_MiB);
        const Domain domain = Domain::open("soft");
        expect_limit_explained(domain, memory.bytes(), 8_MiB);
        EXPECT_NO_THROW(static_cast<void>(domain.register_memory(memory.bytes().first(2_MiB))));
        EXPECT_EQ(held(), 0U);
    });
    EXPECT_EQ(guard.free(), 8U);
}

TEST_F(SoftLimits, WithoutFramesVirtualAddressesServeAndThatIsSaidOnce)
{
    in_child([] {
        std::vector<std::string> said;
        set_log_sink([&](Severity, std::string_view line) { said.emplace_back(line); });
        const Mapping memory{64_KiB};
        become_somebody(8_MiB);
        for (int i = 0; i < 2; ++i) {
            const Domain domain = Domain::open("soft");
            EXPECT_EQ(domain.dma_view(), DmaView::virtual_addresses);
            const Region region = domain.register_memory(memory.bytes());
            EXPECT_EQ(region.built()->front().entries, region.plan().mtt_entries());
        }
        set_log_sink({});
        ASSERT_EQ(said.size(), 1U);
        EXPECT_THAT(said.front(), HasSubstr("frames cannot be read"));
    });
}

TEST_F(SoftLimits, WithoutIoUringMemoryIsLockedAndThatIsSaidOnce)
{
    for (const unsigned error : {EPERM, ENOSYS}) {
        in_child([error] {
            std::vector<std::string> said;
            set_log_sink([&](Severity, std::string_view line) { said.emplace_back(line); });
            forbid_io_uring(error);
            const Mapping memory{64_KiB};
            {
                const Domain domain = Domain::open("soft");
                EXPECT_EQ(domain.dma_view(), DmaView::virtual_addresses);
                const Region all = domain.register_memory(memory.bytes());
                EXPECT_EQ(host::locked_memory().locked, 64_KiB);
                {
                    // mlock does not count: what two regions hold must not be let go by the first that ends.
                    const Region front = domain.register_memory(memory.bytes().first(8_KiB));
                    const Region middle = domain.register_memory(memory.bytes().subspan(20_KiB + 1, 8_KiB));
                }
                EXPECT_EQ(host::locked_memory().locked, 64_KiB);
            }
            EXPECT_EQ(host::locked_memory().locked, 0U);
            {
                const Domain domain = Domain::open("soft");
                std::vector<Region> regions;
                for (const std::size_t at : {0_KiB, 8_KiB, 16_KiB, 48_KiB})
                    regions.push_back(domain.register_memory(memory.bytes().subspan(at, 12_KiB)));
                EXPECT_EQ(host::locked_memory().locked, 28_KiB + 12_KiB);
                regions.erase(regions.begin() + 1); // 8 to 20: 12 to 16 is held by nobody else
                EXPECT_EQ(host::locked_memory().locked, 24_KiB + 12_KiB);
                regions.erase(regions.begin());
                EXPECT_EQ(host::locked_memory().locked, 24_KiB);
            }
            EXPECT_EQ(host::locked_memory().locked, 0U);
            set_log_sink({});
            ASSERT_EQ(said.size(), 1U);
            EXPECT_THAT(said.front(), HasSubstr("mlock2"));
        });
    }
}

TEST_F(SoftLimits, WithoutIoUringTheLockedMemoryLimitIsExplainedAllTheSame)
{
    in_child([] {
        const Mapping memory{12_MiB};
        become_somebody(8_MiB);
        forbid_io_uring(EPERM);
        const Domain domain = Domain::open("soft");
        expect_limit_explained(domain, memory.bytes(), 8_MiB);
    });
}

TEST_F(SoftLimits, OfAControlGroupOnHugepagesAreExplained)
{
    const auto hierarchy = CgroupGuard::hierarchy();
    MRZ_REQUIRE(hierarchy.has_value(), "no version 2 control groups with hugetlb on this machine");
    const PoolGuard guard{2_MiB, 8};
    const CgroupGuard group{*hierarchy};
    group.set("hugetlb.2MB.max", 4_MiB);
    in_child([&] {
        group.enter();
        const Mapping memory{8_MiB, MAP_HUGETLB};
        const Domain domain = Domain::open("soft");
        try {
            const Region region = domain.register_memory(memory.bytes());
            ADD_FAILURE() << "it was registered";
        } catch (const Error& error) {
            EXPECT_EQ(error.error_number(), EFAULT);
            EXPECT_EQ(error.cause().trouble, Trouble::cgroup) << error.what();
            EXPECT_THAT(error.cause().limit, HasSubstr(group.path("hugetlb.2MB.max")));
            EXPECT_EQ(error.cause().present, 4_MiB);
        }
        EXPECT_EQ(held(), 0U);
    });
    EXPECT_EQ(guard.free(), 8U);
}

//! Runs the suite that every driver must pass in a process that \p lower was called in.
void expect_conformance(const std::function<void()>& lower)
{
    const char* const path = std::getenv("MRZ_CONFORMANCE");
    ASSERT_NE(path, nullptr);
    // By a descriptor, since another user may not enter the folder that it is in.
    const int program = ::open(path, O_PATH);
    ASSERT_GE(program, 0);
    RunningProgram suite{{"/proc/self/fd/" + std::to_string(program), "--gtest_brief=1"}, {}, [&lower] {
                             ::unsetenv("GTEST_OUTPUT"); // where another user may not write
                             lower();
                         }};
    const ProgramResult result = suite.wait();
    ::close(program);
    EXPECT_EQ(result.status, 0) << result.out << result.err;
    EXPECT_THAT(result.out, HasSubstr("PASSED"));
}

TEST_F(SoftLimits, WithoutRootTheAdapterConformsAllTheSame)
{
    expect_conformance([] { become_somebody(64_MiB); });
}

TEST_F(SoftLimits, WithoutIoUringTheAdapterConformsAllTheSame)
{
    expect_conformance([] { forbid_io_uring(EPERM); });
}

} // namespace
} // namespace mrz::test
