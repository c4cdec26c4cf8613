// SPDX-License-Identifier: BSD-3-Clause
#include "made_up_root.hpp"

using namespace mrz;
using namespace mrz::host;

namespace {

class HostNodes : public Host {
  protected:
    void node(int id, std::string_view total, std::string_view free)
    {
        const std::string number = std::to_string(id);
        files.write("/sys/devices/system/node/node" + number + "/meminfo",
                    "Node " + number + " MemTotal:       " + std::string{total} + " kB\n" + "Node " + number +
                        " MemFree:        " + std::string{free} + " kB\n");
    }
    [[nodiscard]] std::vector<int> ids() const
    {
        std::vector<int> result;
        for (const Node& node : nodes(root))
            result.push_back(node.id);
        return result;
    }
};

} // namespace

TEST_F(HostNodes, AreInOrderOfIdWithTheirMemoryInBytes)
{
    node(10, "4096", "16");
    node(2, "2048", "8");
    files.write("/sys/devices/system/node/possible", "0-15\n");
    ASSERT_EQ(ids(), (std::vector{2, 10}));
    EXPECT_EQ(nodes(root)[0].memory_total, 2_MiB);
    EXPECT_EQ(nodes(root)[0].memory_free, 8_KiB);
    EXPECT_EQ(nodes(root)[1].memory_total, 4_MiB);
}

TEST_F(HostNodes, WithoutMemoryAreLeftOut)
{
    node(0, "2048", "8");
    node(1, "0", "0");
    EXPECT_EQ(ids(), (std::vector{0}));
    node(2, "1", "1");
    node(3, "1", "1");
    files.write("/sys/devices/system/node/has_memory", "1-2,4\n");
    EXPECT_EQ(ids(), (std::vector{1, 2})) << "where the kernel says which have, it is believed";
}

TEST_F(HostNodes, AreBelievedToHaveMemoryWhereThatIsUnknown)
{
    files.make_folder("/sys/devices/system/node/node0");
    ASSERT_EQ(ids(), (std::vector{0}));
    EXPECT_EQ(nodes(root)[0].memory_total, std::nullopt);
}

TEST_F(HostNodes, AreOneWhereTheKernelKnowsNone)
{
    files.write("/proc/meminfo", "MemTotal:       24684092 kB\nMemFree:        24493020 kB\n");
    ASSERT_EQ(ids(), (std::vector{0}));
    EXPECT_EQ(nodes(root)[0].memory_total, std::uint64_t{24684092} * 1024);
    EXPECT_EQ(nodes(root)[0].memory_free, std::uint64_t{24493020} * 1024);
    files.remove("/proc/meminfo");
    EXPECT_EQ(ids(), (std::vector{0}));
}

TEST_F(HostNodes, ThatAreAloneHaveTheWholeMemory)
{
    node(0, "2048", "8");
    files.write("/proc/meminfo", "MemTotal:       4096 kB\nMemFree:        3072 kB\n");
    EXPECT_EQ(nodes(root).at(0).memory_total, 4_MiB);
    EXPECT_EQ(nodes(root).at(0).memory_free, 3_MiB);
    files.write("/proc/meminfo", "MemTotal:       1024 kB\nMemFree:        4 kB\n");
    EXPECT_EQ(nodes(root).at(0).memory_total, 2_MiB);
    EXPECT_EQ(nodes(root).at(0).memory_free, 8_KiB);

    node(1, "2048", "8");
    files.write("/proc/meminfo", "MemTotal:       4096 kB\nMemFree:        3072 kB\n");
    EXPECT_EQ(nodes(root).at(0).memory_total, 2_MiB) << "not alone";
}

TEST_F(HostNodes, SurviveListsAndNamesThatMakeNoSense)
{
    node(0, "2048", "8");
    files.make_folder("/sys/devices/system/node/nodex");
    files.make_folder("/sys/devices/system/node/node99999999999");
    files.make_folder("/sys/devices/system/node/node");
    for (const std::string_view list : {"", "a-b\n", "0-1-2\n", "0,,1\n", "0-18446744073709551615\n"}) {
        files.write("/sys/devices/system/node/has_memory", list);
        EXPECT_EQ(ids(), (std::vector{0})) << list;
    }
}

TEST_F(HostNodes, AddUpToTheMachine)
{
    node(0, "2048", "8");
    node(1, "4096", "8");
    EXPECT_EQ(memory_total({}, root), 6_MiB);
    EXPECT_EQ(memory_total(1, root), 4_MiB);
    EXPECT_EQ(memory_total(7, root), std::nullopt);
    EXPECT_EQ(memory_available(root), std::nullopt);
    files.write("/proc/meminfo", "MemTotal:       6144 kB\nMemAvailable:      12 kB\n");
    EXPECT_EQ(memory_available(root), 12_KiB);
}
