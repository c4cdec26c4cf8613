// SPDX-License-Identifier: BSD-3-Clause
#include "preflight.hpp"

#include "../host/made_up_root.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>

namespace mrz::hugepage {
namespace {

using testing::HasSubstr;

const std::string group = "/sys/fs/cgroup/job/";

//! A machine with 4 GiB, one node, 100 free 2-MiB pages, 3 1-GiB pages, and a control group without limits.
class Preflight : public testing::Test {
  protected:
    void SetUp() override
    {
        write_pool("/sys/kernel/mm/hugepages/", "2048", 100);
        write_pool("/sys/kernel/mm/hugepages/", "1048576", 3);
        write_pool("/sys/devices/system/node/node0/hugepages/", "2048", 100);
        write_pool("/sys/devices/system/node/node0/hugepages/", "1048576", 3);
        files.write("/sys/devices/system/node/online", "0\n");
        files.write("/sys/devices/system/node/has_memory", "0\n");
        files.write("/sys/devices/system/node/node0/meminfo", "Node 0 MemTotal:        4194304 kB\n"
                                                              "Node 0 MemFree:         2097152 kB\n");
        files.write("/proc/meminfo", "MemTotal:        4194304 kB\nMemFree:         2097152 kB\n");
        files.write("/proc/self/cgroup", "0::/job\n");
        files.write("/proc/self/mountinfo", "30 24 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw\n");
        files.write("/sys/fs/cgroup/cgroup.controllers", "hugetlb\n");
        files.write(group + "cgroup.type", "domain\n");
        files.write(group + "cgroup.controllers", "hugetlb\n");
        for (const std::string kind : {"hugetlb.2MB.", "hugetlb.2MB.rsvd.", "hugetlb.1GB.", "hugetlb.1GB.rsvd."}) {
            files.write(group + kind + "max", "max\n");
            files.write(group + kind + "current", "0\n");
        }
    }
    void write_pool(const std::string& folder, const std::string& kib, int pages)
    {
        const std::string pool = folder + "hugepages-" + kib + "kB/";
        files.write(pool + "nr_hugepages", std::to_string(pages));
        files.write(pool + "free_hugepages", std::to_string(pages));
        files.write(pool + "surplus_hugepages", "0");
        files.write(pool + "resv_hugepages", "0");
        files.write(pool + "nr_overcommit_hugepages", "0");
    }
    Cause refusal(const PageNeed& need, std::optional<int> node = {}) const
    {
        try {
            check_pages(need, node, root);
        } catch (const Error& error) {
            return error.cause();
        }
        return {.what = "not refused", .limit = {}, .remedy = {}};
    }
    Error refused(const WindowOptions& options) const
    {
        try {
            needs_of(options, root);
        } catch (const Error& error) {
            return error;
        }
        return Error{1, {.what = "not refused", .limit = {}, .remedy = {}}};
    }

    host::MadeUpRoot files;
    host::Root root = files.root();
};

TEST_F(Preflight, TheHeaderIsOneMorePageOrAPageOfTheOtherPool)
{
    const auto small = needs_of({.size = 64_MiB}, root);
    ASSERT_EQ(small.size(), 1U);
    EXPECT_EQ(small[0].pages, 33U);
    const auto large = needs_of({.size = 2_GiB, .page_size = 1_GiB}, root);
    ASSERT_EQ(large.size(), 2U);
    EXPECT_EQ(large[0].pages, 2U);
    EXPECT_EQ(large[0].page_size, 1_GiB);
    EXPECT_EQ(large[1].pages, 1U);
    EXPECT_EQ(large[1].page_size, 2_MiB);
}

TEST_F(Preflight, SizesThatMakeNoSenseAreInvalid)
{
    for (const std::size_t size : {std::size_t{0}, std::size_t{1}, 3_MiB})
        EXPECT_EQ(refused({.size = size}).cause().trouble, Trouble::invalid) << size;
    EXPECT_EQ(refused({.size = 3_MiB}).error_number(), EINVAL);
    EXPECT_EQ(refused({.size = 3_MiB}).cause().need, 4_MiB);
    EXPECT_EQ(refused({.size = 2_MiB, .threads = Window::most_threads + 1}).cause().trouble, Trouble::invalid);
}

TEST_F(Preflight, SizesBeyondTheMachineAreTooManyHugepages)
{
    for (const std::size_t size : {4_GiB, 1_TiB, ~std::size_t{0} << 21})
        EXPECT_EQ(refused({.size = size}).cause().trouble, Trouble::hugepages) << size;
    EXPECT_EQ(refused({.size = 8_GiB}).cause().present, 4_GiB);
    EXPECT_EQ(refused({.size = 8_GiB, .node = 0}).cause().present, 4_GiB);
}

TEST_F(Preflight, PageSizesAndNodesThatAreNotThereAreNamed)
{
    EXPECT_EQ(refused({.size = 64_MiB, .page_size = 3_MiB}).cause().trouble, Trouble::invalid);
    EXPECT_EQ(refused({.size = 64_MiB, .page_size = 4_KiB}).cause().trouble, Trouble::invalid);
    const Error lacking = refused({.size = 64_MiB, .page_size = 32_MiB});
    EXPECT_EQ(lacking.cause().trouble, Trouble::hugepages);
    EXPECT_THAT(lacking.what(), HasSubstr("2 MiB, 1 GiB"));
    EXPECT_EQ(refused({.size = 64_MiB, .node = 5}).error_number(), ENOENT);
}

TEST_F(Preflight, APoolThatHoldsExactlyEnoughIsEnough)
{
    EXPECT_EQ(refusal({2_MiB, 100}).what, "not refused");
    EXPECT_EQ(refusal({2_MiB, 101}).trouble, Trouble::hugepages);
    EXPECT_EQ(refusal({2_MiB, 101}, 0).remedy, "try: mrz pools set 202M@2M,node=0");
}

TEST_F(Preflight, OvercommitCountsAndReservedPagesDoNot)
{
    const std::string pool = "/sys/kernel/mm/hugepages/hugepages-2048kB/";
    files.write(pool + "resv_hugepages", "40");
    EXPECT_EQ(refusal({2_MiB, 61}).present, 60U);
    // A node's own count does not know that 40 of its pages are promised.
    EXPECT_EQ(refusal({2_MiB, 61}, 0).present, 60U);
    files.write(pool + "nr_overcommit_hugepages", "10");
    EXPECT_EQ(refusal({2_MiB, 70}).what, "not refused");
    EXPECT_EQ(spare_pages(2_MiB, {}, root), 60U);
}

TEST_F(Preflight, AControlGroupBindsByUsageAndByReservation)
{
    for (const std::string kind : {"hugetlb.2MB.", "hugetlb.2MB.rsvd."}) {
        files.write(group + kind + "max", std::to_string(64_MiB));
        files.write(group + kind + "current", std::to_string(4_MiB));
        EXPECT_EQ(refusal({2_MiB, 30}).what, "not refused");
        const Cause cause = refusal({2_MiB, 31});
        EXPECT_EQ(cause.trouble, Trouble::cgroup);
        EXPECT_THAT(cause.limit, HasSubstr(group + kind + "max"));
        EXPECT_EQ(cause.present, 64_MiB);
        EXPECT_EQ(cause.need, 66_MiB);
        EXPECT_EQ(cause.remedy, "try: echo 69206016 > " + group + kind + "max");
        EXPECT_EQ(spare_pages(2_MiB, {}, root), 30U);
        files.write(group + kind + "max", "max");
    }
}

TEST_F(Preflight, WhatStoppedTheTakingIsWhatHasNoRoomLeft)
{
    const PageNeed missing{.page_size = 2_MiB, .pages = 10};
    EXPECT_THAT(taking_failed(ENOSPC, missing, {}, root).what(), HasSubstr("ran dry while"));
    files.write("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", "0");
    const Error pool = taking_failed(ENOSPC, missing, {}, root);
    EXPECT_EQ(pool.cause().trouble, Trouble::hugepages);
    EXPECT_EQ(pool.cause().present, 0U);
    EXPECT_EQ(pool.error_number(), ENOSPC);
    // The group has room for 9 of 10 and the pool for none: it is the pool.
    files.write(group + "hugetlb.2MB.max", std::to_string(18_MiB));
    EXPECT_EQ(taking_failed(ENOSPC, missing, {}, root).cause().trouble, Trouble::hugepages);
    files.write(group + "hugetlb.2MB.current", std::to_string(18_MiB));
    EXPECT_EQ(taking_failed(ENOSPC, missing, {}, root).cause().trouble, Trouble::cgroup);
}

TEST_F(Preflight, TheMappingLimitIsNamedWithTheValueThatSuffices)
{
    files.write("/proc/sys/vm/max_map_count", "3\n");
    files.write("/proc/self/maps", "00400000-00401000 r--p 00000000 00:00 0 /a\n"
                                   "00402000-00403000 r--p 00000000 00:00 0 /a\n");
    EXPECT_NO_THROW(check_mappings(1, root));
    try {
        check_mappings(6, root);
        FAIL() << "no error";
    } catch (const Error& error) {
        EXPECT_EQ(error.error_number(), ENOMEM);
        EXPECT_EQ(error.cause().trouble, Trouble::invalid);
        EXPECT_EQ(error.cause().present, 3U);
        EXPECT_EQ(error.cause().need, 8U);
        EXPECT_EQ(error.cause().remedy, "try: sysctl vm.max_map_count=8");
    }
}

TEST_F(Preflight, WhatIsUnknownRefusesNothing)
{
    files.remove("/proc/self/cgroup");
    files.remove("/proc/sys/vm/max_map_count");
    EXPECT_EQ(refusal({2_MiB, 100}).what, "not refused");
    EXPECT_NO_THROW(check_mappings(1000000, root));
}

} // namespace
} // namespace mrz::hugepage
