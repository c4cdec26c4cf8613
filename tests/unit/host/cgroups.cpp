// SPDX-License-Identifier: BSD-3-Clause
#include "made_up_root.hpp"

using namespace mrz;
using namespace mrz::host;

namespace {

constexpr auto pages = HugetlbCharge::usage;
constexpr auto reservations = HugetlbCharge::reservation;

// A machine with version 2 alone; this process is in /a/b.
class CgroupVersion2 : public Host {
  protected:
    CgroupVersion2()
    {
        files.write("/proc/self/cgroup", "0::/a/b\n");
        files.write("/proc/self/mountinfo", "30 24 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw\n");
        files.write("/sys/fs/cgroup/cgroup.controllers", "cpu hugetlb memory\n");
        for (const std::string_view group : {"/sys/fs/cgroup/a", "/sys/fs/cgroup/a/b"}) {
            write(group, "cgroup.type", "domain\n");
            write(group, "cgroup.controllers", "cpu hugetlb memory\n");
            write(group, "hugetlb.2MB.max", "max\n");
            write(group, "hugetlb.2MB.current", "0\n");
            write(group, "hugetlb.2MB.rsvd.max", "max\n");
            write(group, "hugetlb.2MB.rsvd.current", "0\n");
        }
    }
    void write(std::string_view group, std::string_view name, std::string_view text)
    {
        files.write(std::string{group} + '/' + std::string{name}, text);
    }
};

// Two version 1 hierarchies; this process is in /job of hugetlb.
class CgroupVersion1 : public Host {
  protected:
    CgroupVersion1()
    {
        files.write("/proc/self/cgroup", "3:cpu,cpuacct:/\n2:hugetlb:/job\n1:name=systemd:/x\n0::/\n");
        files.write("/proc/self/mountinfo", "33 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n"
                                            "34 31 0:30 / /sys/fs/cgroup/huge rw - cgroup cgroup rw,hugetlb\n"
                                            "35 31 0:31 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n");
        files.write("/sys/fs/cgroup/huge/cgroup.sane_behavior", "0\n");
        files.write("/sys/fs/cgroup/huge/hugetlb.2MB.limit_in_bytes", "9223372036852678656\n");
        files.write("/sys/fs/cgroup/huge/hugetlb.2MB.usage_in_bytes", "8388608\n");
        files.write("/sys/fs/cgroup/huge/job/hugetlb.2MB.limit_in_bytes", "6291456\n");
        files.write("/sys/fs/cgroup/huge/job/hugetlb.2MB.usage_in_bytes", "2097152\n");
    }
};

} // namespace

TEST_F(CgroupVersion2, BindsByTheAncestorThatLeavesLeast)
{
    files.write("/sys/fs/cgroup/a/hugetlb.2MB.max", "8388608\n");
    files.write("/sys/fs/cgroup/a/hugetlb.2MB.current", "6291456\n");
    files.write("/sys/fs/cgroup/a/b/hugetlb.2MB.max", "6291456\n");
    files.write("/sys/fs/cgroup/a/b/hugetlb.2MB.current", "2097152\n");
    const CgroupLimits limits = hugetlb_cgroup(2_MiB, pages, root);
    ASSERT_EQ(limits.ancestry.size(), 2u) << "the root has no limit";
    EXPECT_EQ(limits.ancestry[0].file, "/sys/fs/cgroup/a/b/hugetlb.2MB.max");
    EXPECT_EQ(limits.ancestry[0].max, Limit::of(6_MiB));
    EXPECT_EQ(limits.ancestry[0].usage, 2_MiB);
    EXPECT_TRUE(limits.complete);
    EXPECT_EQ(limits.headroom(), Limit::of(2_MiB));
    ASSERT_NE(limits.tightest(), nullptr);
    EXPECT_EQ(limits.tightest()->file, "/sys/fs/cgroup/a/hugetlb.2MB.max");
}

TEST_F(CgroupVersion2, TellsPagesFromReservations)
{
    files.write("/sys/fs/cgroup/a/b/hugetlb.2MB.rsvd.max", "4194304\n");
    files.write("/sys/fs/cgroup/a/b/hugetlb.2MB.rsvd.current", "2097152\n");
    EXPECT_TRUE(hugetlb_cgroup(2_MiB, pages, root).headroom().is_unlimited());
    EXPECT_EQ(hugetlb_cgroup(2_MiB, reservations, root).headroom(), Limit::of(2_MiB));
}

TEST_F(CgroupVersion2, NamesEachPageSizeAsTheKernelDoes)
{
    files.write("/sys/fs/cgroup/a/b/hugetlb.64KB.max", "65536\n");
    files.write("/sys/fs/cgroup/a/b/hugetlb.64KB.current", "0\n");
    files.write("/sys/fs/cgroup/a/b/hugetlb.1GB.max", "1073741824\n");
    files.write("/sys/fs/cgroup/a/b/hugetlb.1GB.current", "0\n");
    EXPECT_EQ(hugetlb_cgroup(64_KiB, pages, root).headroom(), Limit::of(64_KiB));
    EXPECT_EQ(hugetlb_cgroup(1_GiB, pages, root).headroom(), Limit::of(1_GiB));
}

TEST_F(CgroupVersion2, ReadsTheMemoryController)
{
    files.write("/sys/fs/cgroup/a/b/memory.max", "1000000\n");
    files.write("/sys/fs/cgroup/a/b/memory.current", "400000\n");
    files.write("/sys/fs/cgroup/a/memory.max", "max\n");
    files.write("/sys/fs/cgroup/a/memory.current", "500000\n");
    EXPECT_EQ(memory_cgroup(root).headroom(), Limit::of(600000));
}

TEST_F(CgroupVersion2, IsUnlimitedByTheLargestNumberThereIs)
{
    // What Linux 6.18 shows for a limit that nobody has set.
    files.write("/sys/fs/cgroup/a/hugetlb.2MB.max", "9223372036854771712\n");
    EXPECT_TRUE(hugetlb_cgroup(2_MiB, pages, root).headroom().is_unlimited());
}

TEST_F(CgroupVersion2, LimitsNothingWhereTheControllerIsOff)
{
    files.remove("/sys/fs/cgroup/a/b/hugetlb.2MB.max");
    files.write("/sys/fs/cgroup/a/b/cgroup.controllers", "cpu memory\n");
    files.write("/sys/fs/cgroup/a/hugetlb.2MB.max", "2097152\n");
    const CgroupLimits limits = hugetlb_cgroup(2_MiB, pages, root);
    EXPECT_EQ(limits.ancestry.size(), 1u);
    EXPECT_EQ(limits.headroom(), Limit::of(2_MiB)) << "the parent's still binds";
}

TEST_F(CgroupVersion2, IsUnknownWhereALimitShouldBeAndIsNot)
{
    files.remove("/sys/fs/cgroup/a/b/hugetlb.2MB.max");
    const CgroupLimits limits = hugetlb_cgroup(2_MiB, pages, root);
    ASSERT_EQ(limits.ancestry.size(), 2u);
    EXPECT_TRUE(limits.ancestry[0].max.is_unknown());
    EXPECT_TRUE(limits.headroom().is_unknown());
    EXPECT_EQ(limits.tightest(), nullptr);
}

TEST_F(CgroupVersion2, IsUnknownWhereALimitCannotBeRead)
{
    files.make_unreadable("/sys/fs/cgroup/a/hugetlb.2MB.max");
    files.write("/sys/fs/cgroup/a/cgroup.controllers", "\n");
    EXPECT_TRUE(hugetlb_cgroup(2_MiB, pages, root).headroom().is_unknown());

    files.remove("/sys/fs/cgroup/a");
    EXPECT_TRUE(hugetlb_cgroup(2_MiB, pages, root).headroom().is_unknown());
}

TEST_F(CgroupVersion2, IsUnknownWhereALimitIsGarbled)
{
    for (const std::string_view text : {"", "\n", "-1\n", "maximum\n", "2 MiB\n", "99999999999999999999\n"}) {
        files.write("/sys/fs/cgroup/a/hugetlb.2MB.max", text);
        EXPECT_TRUE(hugetlb_cgroup(2_MiB, pages, root).headroom().is_unknown()) << text;
    }
}

TEST_F(CgroupVersion2, HasNoReservationLimitOnKernelsThatLackIt)
{
    files.remove("/sys/fs/cgroup/a/hugetlb.2MB.rsvd.max");
    files.remove("/sys/fs/cgroup/a/b/hugetlb.2MB.rsvd.max");
    EXPECT_TRUE(hugetlb_cgroup(2_MiB, reservations, root).headroom().is_unlimited());
}

TEST_F(CgroupVersion2, LeavesNothingWhenMoreIsUsedThanAllowed)
{
    files.write("/sys/fs/cgroup/a/hugetlb.2MB.max", "2097152\n");
    files.write("/sys/fs/cgroup/a/hugetlb.2MB.current", "4194304\n");
    EXPECT_EQ(hugetlb_cgroup(2_MiB, pages, root).headroom(), Limit::of(0));
}

TEST_F(CgroupVersion2, OfRdmaIsTheLineOfTheDeviceAndTheValueAskedFor)
{
    for (const std::string_view group : {"/sys/fs/cgroup/a", "/sys/fs/cgroup/a/b"}) {
        write(group, "rdma.max", "mlx5_0 hca_handle=max hca_object=max\nmlx5_10 hca_handle=3 hca_object=5\n");
        write(group, "rdma.current", "mlx5_0 hca_handle=1 hca_object=20\nmlx5_10 hca_handle=1 hca_object=4\n");
    }
    write("/sys/fs/cgroup/a", "rdma.max", "mlx5_0 hca_handle=2 hca_object=21\n");
    const CgroupLimits objects = rdma_cgroup("mlx5_0", RdmaCharge::objects, root);
    ASSERT_EQ(objects.ancestry.size(), 2u);
    EXPECT_TRUE(objects.ancestry[0].max.is_unlimited());
    ASSERT_NE(objects.tightest(), nullptr);
    EXPECT_EQ(objects.tightest()->file, "/sys/fs/cgroup/a/rdma.max");
    EXPECT_EQ(objects.tightest()->max, Limit::of(21));
    EXPECT_EQ(objects.tightest()->usage, 20u);
    EXPECT_EQ(rdma_cgroup("mlx5_0", RdmaCharge::handles, root).headroom(), Limit::of(1));
    EXPECT_EQ(rdma_cgroup("mlx5_10", RdmaCharge::objects, root).headroom(), Limit::of(1));
    EXPECT_TRUE(rdma_cgroup("mlx5_1", RdmaCharge::objects, root).headroom().is_unknown());
    write("/sys/fs/cgroup/a", "rdma.max", "mlx5_0 hca_handle=two hca_object\n\n \n");
    EXPECT_TRUE(rdma_cgroup("mlx5_0", RdmaCharge::handles, root).headroom().is_unknown());
}

TEST_F(CgroupVersion2, IsUnknownWhereTheUsageIs)
{
    files.write("/sys/fs/cgroup/a/hugetlb.2MB.max", "2097152\n");
    files.remove("/sys/fs/cgroup/a/hugetlb.2MB.current");
    EXPECT_TRUE(hugetlb_cgroup(2_MiB, pages, root).headroom().is_unknown());
}

TEST_F(CgroupVersion2, OfAContainerDoesNotShowTheOuterGroups)
{
    files.write("/proc/self/cgroup", "0::/\n");
    files.write("/sys/fs/cgroup/cgroup.type", "domain\n");
    files.write("/sys/fs/cgroup/hugetlb.2MB.max", "max\n");
    files.write("/sys/fs/cgroup/hugetlb.2MB.current", "0\n");
    const CgroupLimits limits = hugetlb_cgroup(2_MiB, pages, root);
    EXPECT_EQ(limits.ancestry.size(), 1u);
    EXPECT_FALSE(limits.complete);
    EXPECT_TRUE(limits.headroom().is_unknown());

    files.write("/sys/fs/cgroup/hugetlb.2MB.max", "2097152\n");
    EXPECT_EQ(hugetlb_cgroup(2_MiB, pages, root).headroom(), Limit::of(2_MiB)) << "what is known still binds";
}

TEST_F(CgroupVersion2, OutsideTheNamespaceCannotBeSeen)
{
    for (const std::string_view path : {"0::/../..\n", "0::/../other\n", "0::/a/../b\n"}) {
        files.write("/proc/self/cgroup", path);
        const CgroupLimits limits = hugetlb_cgroup(2_MiB, pages, root);
        EXPECT_TRUE(limits.ancestry.empty()) << path;
        EXPECT_FALSE(limits.complete) << path;
    }
}

TEST_F(CgroupVersion2, BelowAMountOfASubtreeIsFoundRelativeToIt)
{
    files.write("/proc/self/mountinfo", "30 24 0:26 /a /sys/fs/cgroup/a rw - cgroup2 cgroup2 rw\n");
    files.write("/sys/fs/cgroup/a/b/hugetlb.2MB.max", "2097152\n");
    const CgroupLimits limits = hugetlb_cgroup(2_MiB, pages, root);
    ASSERT_EQ(limits.ancestry.size(), 2u);
    EXPECT_EQ(limits.tightest()->file, "/sys/fs/cgroup/a/b/hugetlb.2MB.max");
    EXPECT_FALSE(limits.complete);
}

TEST_F(CgroupVersion2, OfAnotherSubtreeIsNotTakenForOurs)
{
    files.write("/proc/self/mountinfo", "30 24 0:26 /aa /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
    EXPECT_TRUE(hugetlb_cgroup(2_MiB, pages, root).ancestry.empty());
    EXPECT_TRUE(hugetlb_cgroup(2_MiB, pages, root).headroom().is_unknown());
}

TEST_F(CgroupVersion2, ThatIsNotMountedHereIsUnknown)
{
    files.write("/proc/self/mountinfo", "24 1 0:24 / / rw - ext4 /dev/vda rw\n");
    EXPECT_TRUE(hugetlb_cgroup(2_MiB, pages, root).headroom().is_unknown());
    files.remove("/proc/self/mountinfo");
    EXPECT_TRUE(hugetlb_cgroup(2_MiB, pages, root).headroom().is_unknown());
}

TEST_F(CgroupVersion2, AtAMountPointWithBlanksIsFound)
{
    files.write("/proc/self/mountinfo", R"(30 24 0:26 / /mnt/my\040groups\134x rw - cgroup2 none rw)"
                                        "\n");
    files.write("/proc/self/cgroup", "0::/g\n");
    files.write(R"(/mnt/my groups\x/cgroup.controllers)", "hugetlb\n");
    files.write(R"(/mnt/my groups\x/g/hugetlb.2MB.max)", "4194304\n");
    files.write(R"(/mnt/my groups\x/g/hugetlb.2MB.current)", "0\n");
    EXPECT_EQ(hugetlb_cgroup(2_MiB, pages, root).headroom(), Limit::of(4_MiB));
}

TEST_F(CgroupVersion1, BindsAndItsRootIsUnlimited)
{
    const CgroupLimits limits = hugetlb_cgroup(2_MiB, pages, root);
    ASSERT_EQ(limits.ancestry.size(), 2u);
    EXPECT_EQ(limits.ancestry[0].max, Limit::of(6_MiB));
    EXPECT_TRUE(limits.ancestry[1].max.is_unlimited()) << "a number near 2^63 stands for no limit";
    EXPECT_TRUE(limits.complete);
    EXPECT_EQ(limits.headroom(), Limit::of(4_MiB));
    EXPECT_EQ(limits.tightest()->file, "/sys/fs/cgroup/huge/job/hugetlb.2MB.limit_in_bytes");
}

TEST_F(CgroupVersion1, ReadsReservationsFromTheirOwnFiles)
{
    files.write("/sys/fs/cgroup/huge/job/hugetlb.2MB.rsvd.limit_in_bytes", "2097152\n");
    files.write("/sys/fs/cgroup/huge/job/hugetlb.2MB.rsvd.usage_in_bytes", "0\n");
    EXPECT_EQ(hugetlb_cgroup(2_MiB, reservations, root).headroom(), Limit::of(2_MiB));
}

TEST_F(CgroupVersion1, IsUnknownWhereALimitIsMissing)
{
    files.remove("/sys/fs/cgroup/huge/job/hugetlb.2MB.limit_in_bytes");
    EXPECT_TRUE(hugetlb_cgroup(2_MiB, pages, root).headroom().is_unknown());
}

TEST_F(CgroupVersion1, OfAContainerDoesNotShowTheOuterGroups)
{
    files.remove("/sys/fs/cgroup/huge/cgroup.sane_behavior");
    EXPECT_FALSE(hugetlb_cgroup(2_MiB, pages, root).complete);
    EXPECT_EQ(hugetlb_cgroup(2_MiB, pages, root).headroom(), Limit::of(4_MiB));
}

TEST_F(CgroupVersion1, BesideVersion2LeavesTheControllersItHasNot)
{
    // memory is in no version 1 hierarchy here, so it is version 2's, where this process is in the root.
    files.write("/sys/fs/cgroup/unified/cgroup.controllers", "memory\n");
    const CgroupLimits limits = memory_cgroup(root);
    EXPECT_TRUE(limits.ancestry.empty());
    EXPECT_TRUE(limits.complete);
    EXPECT_TRUE(limits.headroom().is_unlimited());
}

TEST_F(CgroupVersion1, ThatIsNotMountedHereIsUnknown)
{
    files.write("/proc/self/mountinfo", "33 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n"
                                        "35 31 0:31 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n");
    files.write("/sys/fs/cgroup/unified/cgroup.controllers", "hugetlb\n");
    EXPECT_TRUE(hugetlb_cgroup(2_MiB, pages, root).headroom().is_unknown());
}

using Cgroups = Host;

TEST_F(Cgroups, LimitNothingWhereNoHierarchyHasTheController)
{
    files.write("/proc/self/mountinfo", "33 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n");
    for (const std::string_view text : {"3:cpu:/\n", ""}) {
        files.write("/proc/self/cgroup", text);
        const CgroupLimits limits = hugetlb_cgroup(2_MiB, pages, root);
        EXPECT_TRUE(limits.ancestry.empty());
        EXPECT_TRUE(limits.complete);
        EXPECT_TRUE(limits.headroom().is_unlimited());
    }
}

TEST_F(Cgroups, AreUnknownWhereMembershipCannotBeRead)
{
    EXPECT_TRUE(hugetlb_cgroup(2_MiB, pages, root).headroom().is_unknown());
    EXPECT_TRUE(memory_cgroup(root).headroom().is_unknown());
    for (const std::string_view text : {"3:cpu:/\n5:huge", "0:", "::", "0::relative\n"}) {
        files.write("/proc/self/cgroup", text);
        EXPECT_FALSE(hugetlb_cgroup(2_MiB, pages, root).complete) << text;
    }
}
