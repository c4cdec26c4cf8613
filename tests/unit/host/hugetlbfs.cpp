// SPDX-License-Identifier: BSD-3-Clause
#include "made_up_root.hpp"

using namespace mrz;
using namespace mrz::host;

namespace {

class Hugetlbfs : public Host {
  protected:
    // Lines of mountinfo after the root's.
    std::vector<HugetlbfsMount> mounts(std::string_view lines)
    {
        files.write("/proc/self/mountinfo", "1 0 8:1 / / rw - ext4 /dev/vda rw\n" + std::string{lines});
        return hugetlbfs_mounts(root);
    }
};

} // namespace

TEST_F(Hugetlbfs, MountsTellPageSizeSizeAndWhetherTheyMayBeWritten)
{
    const auto found = mounts("40 1 0:40 / /dev/hugepages rw,relatime shared:3 - hugetlbfs hugetlbfs rw,pagesize=2M\n"
                              "41 1 0:41 / /mnt/1g ro - hugetlbfs none rw,gid=5,pagesize=1024M,size=4294967296\n"
                              "42 1 0:42 / /mnt/small rw - hugetlbfs none ro,pagesize=64K,size=8M,min_size=1M\n"
                              "43 1 0:43 / /proc rw - proc proc rw\n");
    ASSERT_EQ(found.size(), 3u);
    EXPECT_EQ(found[0].path, "/dev/hugepages");
    EXPECT_EQ(found[0].page_size, 2_MiB);
    EXPECT_TRUE(found[0].size.is_unlimited());
    EXPECT_FALSE(found[0].read_only);
    EXPECT_EQ(found[1].page_size, 1_GiB);
    EXPECT_EQ(found[1].size, Limit::of(4_GiB));
    EXPECT_TRUE(found[1].read_only);
    EXPECT_EQ(found[2].page_size, 64_KiB);
    EXPECT_EQ(found[2].size, Limit::of(8_MiB));
    EXPECT_TRUE(found[2].read_only);
}

TEST_F(Hugetlbfs, WithoutAPageSizeHasTheDefaultOne)
{
    constexpr std::string_view line = "40 1 0:40 / /dev/hugepages rw - hugetlbfs hugetlbfs rw\n";
    EXPECT_EQ(mounts(line).at(0).page_size, std::nullopt);
    files.write("/proc/meminfo", "MemTotal: 100 kB\nHugepagesize:       2048 kB\nHugetlb: 0 kB\n");
    EXPECT_EQ(mounts(line).at(0).page_size, 2_MiB);
    EXPECT_EQ(default_hugepage_size(root), 2_MiB);
}

TEST_F(Hugetlbfs, WithOptionsThatMakeNoSenseIsUnknown)
{
    const auto found = mounts("40 1 0:40 / /a rw - hugetlbfs none rw,pagesize=,size=lots\n"
                              "41 1 0:41 / /b rw - hugetlbfs none rw,pagesize=2X,size=18446744073709551615K\n");
    ASSERT_EQ(found.size(), 2u);
    for (const HugetlbfsMount& mount : found) {
        EXPECT_EQ(mount.page_size, std::nullopt);
        EXPECT_TRUE(mount.size.is_unknown());
    }
}

TEST_F(Hugetlbfs, PathsMayHoldBlanksAndSourcesMayBeEmpty)
{
    const auto found = mounts(R"(40 1 0:40 / /a\040b\011c rw -)"
                              " hugetlbfs  rw,pagesize=2M\n");
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(found[0].path, "/a b\tc");
    EXPECT_EQ(found[0].page_size, 2_MiB);
}

TEST_F(Hugetlbfs, ThatAnotherMountHidesIsNotListed)
{
    const auto found = mounts("40 1 0:40 / /stacked rw - hugetlbfs none rw,pagesize=2M\n"
                              "41 40 0:41 / /stacked rw - hugetlbfs none rw,pagesize=1024M\n"
                              "42 1 0:42 / /mnt/below rw - hugetlbfs none rw,pagesize=2M\n"
                              "43 1 0:43 / /mnt rw - tmpfs none rw\n"
                              "44 43 0:44 / /mnt/above rw - hugetlbfs none rw,pagesize=2M\n"
                              "45 1 0:45 / /mnt2 rw - hugetlbfs none rw,pagesize=2M\n");
    ASSERT_EQ(found.size(), 3u);
    EXPECT_EQ(found[0].path, "/stacked");
    EXPECT_EQ(found[0].page_size, 1_GiB);
    EXPECT_EQ(found[1].path, "/mnt/above");
    EXPECT_EQ(found[2].path, "/mnt2");
}

TEST_F(Hugetlbfs, LinesThatMakeNoSenseArePassedOver)
{
    const auto found = mounts("40 1 0:40 / /a rw - hugetlbfs\n"
                              "x 1 0:40 / /b rw - hugetlbfs none rw\n"
                              "41 1\n"
                              "\n"
                              "42 1 0:42 / /c rw hugetlbfs none rw\n"
                              "43 1 0:43 / /d rw - hugetlbfs none rw");
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(found[0].path, "/d");
}
