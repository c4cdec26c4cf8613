// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! What holds on every Linux machine with /proc and /sys, for any user.
#include <mrzone/host.hpp>

#include <gtest/gtest.h>

#include <sys/resource.h>
#include <sys/sysinfo.h>

using namespace mrz;
using namespace mrz::host;

namespace {

Limit to_limit(rlim_t value)
{
    return value == RLIM_INFINITY ? Limit::unlimited() : Limit::of(value);
}

} // namespace

TEST(ThisMachine, HasTheLockedMemoryLimitThatGetrlimitSays)
{
    rlimit limit{};
    ASSERT_EQ(getrlimit(RLIMIT_MEMLOCK, &limit), 0);
    EXPECT_EQ(locked_memory().soft, to_limit(limit.rlim_cur));
    EXPECT_EQ(locked_memory().hard, to_limit(limit.rlim_max));
    EXPECT_TRUE(locked_memory().locked.has_value());
    EXPECT_TRUE(locked_memory().pinned.has_value());
    EXPECT_TRUE(capabilities().effective.has_value());
}

TEST(ThisMachine, HasNodesThatTogetherHoldItsMemory)
{
    struct sysinfo info {};
    ASSERT_EQ(sysinfo(&info), 0);
    const std::uint64_t memory = std::uint64_t{info.totalram} * info.mem_unit;
    std::uint64_t total = 0;
    for (const Node& node : nodes()) {
        ASSERT_TRUE(node.memory_total && node.memory_free);
        EXPECT_LE(*node.memory_free, *node.memory_total);
        total += *node.memory_total;
    }
    EXPECT_GE(total, memory / 100 * 98);
    EXPECT_LE(total, memory / 100 * 102);
}

TEST(ThisMachine, AllowsMoreMappingsThanItUses)
{
    const Mappings found = mappings();
    ASSERT_TRUE(found.used && found.max.value());
    EXPECT_GT(*found.used, 3u);
    EXPECT_LT(*found.used, *found.max.value());
}

TEST(ThisMachine, HasHugetlbfsMountsOfPageSizesThatAreOne)
{
    for (const HugetlbfsMount& mount : hugetlbfs_mounts()) {
        EXPECT_TRUE(mount.path.is_absolute());
        ASSERT_TRUE(mount.page_size);
        EXPECT_TRUE(std::has_single_bit(*mount.page_size));
        EXPECT_FALSE(mount.size.is_unknown());
    }
}

TEST(ThisMachine, NamesOnlyLimitFilesThatAreThere)
{
    for (const CgroupLimits& limits : {memory_cgroup(), hugetlb_cgroup(2_MiB, HugetlbCharge::usage)}) {
        for (const CgroupLimit& limit : limits.ancestry)
            EXPECT_TRUE(limit.max.is_unknown() || std::filesystem::exists(limit.file)) << limit.file;
    }
}
