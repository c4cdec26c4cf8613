// SPDX-License-Identifier: BSD-3-Clause
#include <mrzone/hugepage.hpp>

#include "../host/made_up_root.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>

namespace mrz {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const std::string machine = "/sys/kernel/mm/hugepages/hugepages-2048kB/";
const std::string node1 = "/sys/devices/system/node/node1/hugepages/hugepages-2048kB/";

class PoolFiles : public testing::Test {
  protected:
    void SetUp() override
    {
        write_pool(machine, 100, 60, 10);
        files.write(machine + "resv_hugepages", "5\n");
        files.write(machine + "nr_overcommit_hugepages", "20\n");
        write_pool(node1, 40, 30, 0);
        files.make_folder("/sys/kernel/mm/hugepages/hugepages-1048576kB");
        files.make_folder("/sys/kernel/mm/hugepages/hugepages-oddkB");
    }
    void write_pool(const std::string& folder, int total, int free, int surplus)
    {
        files.write(folder + "nr_hugepages", std::to_string(total) + "\n");
        files.write(folder + "free_hugepages", std::to_string(free) + "\n");
        files.write(folder + "surplus_hugepages", std::to_string(surplus) + "\n");
    }

    host::MadeUpRoot files;
    host::Root root = files.root();
};

TEST_F(PoolFiles, SizesAreAscendingAndOtherFoldersAreNoSizes)
{
    EXPECT_THAT(hugepage_sizes(root), ElementsAre(2_MiB, 1_GiB));
}

TEST(PoolSizes, AKernelWithoutHugepagesHasNone)
{
    const host::MadeUpRoot files;
    EXPECT_THAT(hugepage_sizes(files.root()), IsEmpty());
}

TEST_F(PoolFiles, WhatIsReservedIsNotAvailable)
{
    const Pool pool = read_pool(2_MiB, {}, root);
    EXPECT_EQ(pool.total, 100U);
    EXPECT_EQ(pool.surplus, 10U);
    EXPECT_EQ(pool.reserved, 5U);
    EXPECT_EQ(pool.overcommit, 20U);
    EXPECT_EQ(pool.available(), 55U);
    EXPECT_EQ((Pool{.free = 3, .reserved = 5}).available(), 0U);
}

TEST_F(PoolFiles, ANodeHasItsOwnCounts)
{
    const Pool pool = read_pool(2_MiB, 1, root);
    EXPECT_EQ(pool.node, 1);
    EXPECT_EQ(pool.total, 40U);
    EXPECT_EQ(pool.available(), 30U);
    EXPECT_EQ(pool.overcommit, 0U);
}

TEST_F(PoolFiles, OfAllPoolsTheMachinesComeBeforeTheNodes)
{
    files.write("/sys/devices/system/node/node1/meminfo", "Node 1 MemTotal: 1000 kB\nNode 1 MemFree: 10 kB\n");
    files.write("/sys/devices/system/node/node2/meminfo", "Node 2 MemTotal: 1000 kB\nNode 2 MemFree: 10 kB\n");
    write_pool("/sys/devices/system/node/node2/hugepages/hugepages-2048kB/", 7, 6, 0);
    const std::size_t sizes[] = {2_MiB};
    const std::vector<Pool> pools = read_pools(sizes, root);
    ASSERT_EQ(pools.size(), 3U);
    EXPECT_EQ(pools[0].node, std::nullopt);
    EXPECT_EQ(pools[0].total, 100U);
    EXPECT_EQ(pools[1].node, 1);
    EXPECT_EQ(pools[1].total, 40U);
    EXPECT_EQ(pools[2].node, 2);
    EXPECT_EQ(pools[2].total, 7U);
}

TEST_F(PoolFiles, ASizeThatTheKernelLacksIsRefusedNamingThoseItHas)
{
    try {
        read_pool(4_MiB, {}, root);
        FAIL() << "no error";
    } catch (const Error& error) {
        EXPECT_EQ(error.error_number(), EINVAL);
        EXPECT_EQ(error.cause().trouble, Trouble::hugepages);
        EXPECT_THAT(error.what(), HasSubstr("2 MiB, 1 GiB"));
    }
}

TEST_F(PoolFiles, ANodeThatDoesNotExistIsRefused)
{
    for (const int node : {0, 7, -1})
        try {
            read_pool(2_MiB, node, root);
            FAIL() << "no error for node " << node;
        } catch (const Error& error) {
            EXPECT_EQ(error.error_number(), ENOENT);
            EXPECT_EQ(error.cause().trouble, Trouble::hugepages);
        }
}

TEST_F(PoolFiles, WhereTheKernelKnowsNoNodesNodeZeroIsTheMachine)
{
    files.remove("/sys/devices/system/node");
    EXPECT_EQ(read_pool(2_MiB, 0, root).total, 100U);
    EXPECT_THROW(read_pool(2_MiB, 1, root), Error);
}

TEST_F(PoolFiles, WhereTheKernelDoesNotSplitPagesNoWholeGigabytesAreAdded)
{
    EXPECT_EQ(add_whole_gigabytes(2, {}, root), 0U);
    EXPECT_EQ(root.text("/sys/kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages"), std::nullopt) << "not written";
    EXPECT_EQ(read_pool(2_MiB, {}, root).total, 100U);
}

TEST_F(PoolFiles, ACountThatCannotBeReadIsNotTakenForZero)
{
    files.make_unreadable(machine + "free_hugepages");
    EXPECT_THROW(read_pool(2_MiB, {}, root), Error);
}

TEST_F(PoolFiles, ResizeWritesTheCountAndReadsBackWhatTheKernelDid)
{
    const PoolChange change = resize_pool(2_MiB, 1, 64, root);
    EXPECT_EQ(root.number(node1 + "nr_hugepages"), 64U);
    EXPECT_EQ(root.number(machine + "nr_hugepages"), 100U);
    EXPECT_EQ(change.before.total, 40U);
    EXPECT_EQ(change.after.total, 64U);
    EXPECT_TRUE(change.met());
}

TEST_F(PoolFiles, PagesInUseBeyondTheSizeDoNotCountAsObtained)
{
    // These files do what the kernel does not: total becomes what was written, though 10 of it are surplus.
    const PoolChange change = resize_pool(2_MiB, {}, 64, root);
    EXPECT_FALSE(change.met());
}

TEST_F(PoolFiles, APoolThatMayNotBeWrittenIsAMatterOfPermission)
{
    // A number that nobody may write, root neither.
    files.link(machine + "nr_hugepages", "/proc/sys/kernel/ngroups_max");
    try {
        resize_pool(2_MiB, {}, 1, root);
        FAIL() << "no error";
    } catch (const Error& error) {
        EXPECT_EQ(error.error_number(), EACCES);
        EXPECT_EQ(error.cause().trouble, Trouble::permission);
        EXPECT_THAT(error.cause().remedy, HasSubstr("root"));
    }
}

TEST_F(PoolFiles, AShortfallNamesTheCommandThatMendsIt)
{
    const Cause cause = pool_too_small(read_pool(2_MiB, {}, root), 513);
    EXPECT_EQ(cause.trouble, Trouble::hugepages);
    EXPECT_EQ(cause.present, 55U);
    EXPECT_EQ(cause.need, 513U);
    // 90 pages that stay, and the 458 that are missing.
    EXPECT_EQ(cause.remedy, "try: mrz pools set 1096M@2M");
    EXPECT_EQ(pool_too_small(read_pool(2_MiB, 1, root), 32).remedy, "try: mrz pools set 84M@2M,node=1");
    EXPECT_EQ(pool_too_small({.page_size = 1_GiB}, 2).remedy, "try: mrz pools set 2G@1G");
}

} // namespace
} // namespace mrz
