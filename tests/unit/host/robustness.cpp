// SPDX-License-Identifier: BSD-3-Clause
#include "made_up_root.hpp"

#include <algorithm>
#include <array>
#include <random>

using namespace mrz;
using namespace mrz::host;

namespace {

// Every file that this floor reads, as a machine with a container's group might have it.
constexpr std::pair<std::string_view, std::string_view> everything[] = {
    {"/proc/self/cgroup", "4:hugetlb:/job\n3:cpu,cpuacct:/\n0::/a\n"},
    {"/proc/self/mountinfo", "24 1 8:1 / / rw - ext4 /dev/vda rw\n"
                             "30 24 0:26 / /cg rw,nosuid shared:9 - cgroup2 cgroup2 rw\n"
                             "31 24 0:27 / /cg1 rw - cgroup cgroup rw,hugetlb\n"
                             "40 24 0:40 / /a\\040b ro - hugetlbfs none rw,pagesize=2M,size=8M\n"
                             "41 40 0:41 / /a\\040b rw - hugetlbfs none rw,pagesize=1024M\n"},
    {"/proc/self/limits", "Limit      Soft Limit  Hard Limit  Units\nMax locked memory  8388608  unlimited  bytes\n"},
    {"/proc/self/status", "Name:\tx\nVmLck:\t 12 kB\nVmPin:\t 8 kB\nCapEff:\t000001ffffffffff\n"},
    {"/proc/self/maps", "7f00-7f01 rw-p 0 00:00 0 [heap]\n7f02-7f03 r--p 0 00:00 0\n"},
    {"/proc/meminfo", "MemTotal:       100 kB\nMemFree:        50 kB\nHugepagesize:       2048 kB\n"},
    {"/proc/sys/vm/max_map_count", "65530\n"},
    {"/proc/sys/kernel/osrelease", "6.18.0-x\n"},
    {"/cg/cgroup.controllers", "hugetlb memory\n"},
    {"/cg/a/cgroup.controllers", "hugetlb memory\n"},
    {"/cg/a/memory.max", "4194304\n"},
    {"/cg/a/memory.current", "0\n"},
    {"/cg1/cgroup.sane_behavior", "0\n"},
    {"/cg1/job/hugetlb.2MB.limit_in_bytes", "4194304\n"},
    {"/cg1/job/hugetlb.2MB.usage_in_bytes", "0\n"},
    {"/sys/kernel/iommu_groups/0/type", "identity\n"},
    {"/sys/devices/system/node/has_memory", "0-1\n"},
    {"/sys/devices/system/node/node0/meminfo", "Node 0 MemTotal: 100 kB\nNode 0 MemFree: 50 kB\n"},
};

// What must hold whatever the files say.
void ask_everything(const Root& root)
{
    for (const CgroupLimits& limits : {memory_cgroup(root), hugetlb_cgroup(2_MiB, HugetlbCharge::usage, root),
                                       hugetlb_cgroup(2_MiB, HugetlbCharge::reservation, root)}) {
        ASSERT_EQ(limits.headroom().value().has_value(), limits.tightest() != nullptr);
        ASSERT_TRUE(limits.complete || !limits.headroom().is_unlimited());
        for (const CgroupLimit& limit : limits.ancestry)
            ASSERT_TRUE(limit.file.starts_with('/'));
    }
    const Capabilities held = capabilities(root);
    ASSERT_TRUE(held.effective || !held.sys_admin());
    ASSERT_EQ(locked_memory(root).exempt, held.ipc_lock());
    ASSERT_LE(hugetlbfs_mounts(root).size(), 2000u);
    ASSERT_FALSE(mappings(root).max.is_unlimited());
    ASSERT_FALSE(to_string(iommu(root)).empty());
    ASSERT_FALSE(nodes(root).empty());
    const unsigned shift = max_registration_shift(root).value();
    ASSERT_TRUE(shift == 30 || shift == 31);
}

class Garbage : public Host {
  protected:
    void write_everything()
    {
        for (const auto& [file, text] : everything)
            files.write(file, text);
    }
    std::size_t below(std::size_t bound) { return std::uniform_int_distribution<std::size_t>{0, bound - 1}(random); }

    std::mt19937_64 random{20240611};
};

} // namespace

TEST_F(Garbage, TheWholeFilesAreUnderstood)
{
    write_everything();
    EXPECT_EQ(memory_cgroup(root).headroom(), Limit::of(4_MiB));
    EXPECT_EQ(hugetlb_cgroup(2_MiB, HugetlbCharge::usage, root).headroom(), Limit::of(4_MiB));
    EXPECT_EQ(locked_memory(root).soft, Limit::of(8_MiB));
    EXPECT_EQ(hugetlbfs_mounts(root).size(), 1u);
    EXPECT_EQ(mappings(root).used, 2u);
    EXPECT_EQ(iommu(root), Iommu::passthrough);
    EXPECT_EQ(nodes(root).size(), 1u);
    EXPECT_EQ(max_registration_shift(root).value(), 31u);
    ASSERT_NO_FATAL_FAILURE(ask_everything(root));
}

TEST_F(Garbage, FilesCutOffAnywhereAreSurvived)
{
    write_everything();
    for (const auto& [file, text] : everything) {
        for (std::size_t length = 0; length < text.size(); ++length) {
            files.write(file, text.substr(0, length));
            ASSERT_NO_FATAL_FAILURE(ask_everything(root)) << file << " cut off at " << length;
        }
        files.make_unreadable(file);
        ASSERT_NO_FATAL_FAILURE(ask_everything(root)) << file << " unreadable";
        files.remove(file);
        ASSERT_NO_FATAL_FAILURE(ask_everything(root)) << file << " missing";
        files.write(file, text);
    }
}

TEST_F(Garbage, RandomBytesInPlaceOfAnyFileAreSurvived)
{
    static constexpr std::string_view likely = " :/,-=\\\n\t0123456789kBrwMGmax.";
    for (int round = 0; round < 300; ++round) {
        SCOPED_TRACE(round);
        for (const auto& [file, text] : everything) {
            std::string garbled{text};
            // Some as they were, some with a few bytes changed, some of nothing but chance.
            const std::size_t kind = below(3);
            if (kind == 2)
                garbled.resize(below(2000));
            for (std::size_t i = kind == 2 ? garbled.size() : kind * 4; i > 0 && !garbled.empty(); --i)
                garbled[kind == 2 ? i - 1 : below(garbled.size())] =
                    below(2) == 0 ? likely[below(likely.size())] : static_cast<char>(below(256));
            files.write(file, garbled);
        }
        ASSERT_NO_FATAL_FAILURE(ask_everything(root));
    }
}

TEST_F(Garbage, ParentsInACircleAreSurvived)
{
    files.write("/proc/self/mountinfo", "2 3 0:1 / /a rw - hugetlbfs none rw\n3 2 0:2 / /b rw - hugetlbfs none rw\n"
                                        "4 4 0:3 / /c rw - hugetlbfs none rw\n");
    EXPECT_EQ(hugetlbfs_mounts(root).size(), 3u);
}
