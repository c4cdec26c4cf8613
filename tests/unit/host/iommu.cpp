// SPDX-License-Identifier: BSD-3-Clause
#include "made_up_root.hpp"

using namespace mrz::host;

namespace {

class HostIommu : public Host {
  protected:
    void group(int id, std::string_view type)
    {
        files.write("/sys/kernel/iommu_groups/" + std::to_string(id) + "/type", type);
    }
};

} // namespace

TEST_F(HostIommu, IsNoneWithoutGroups)
{
    files.make_folder("/sys/kernel");
    EXPECT_EQ(iommu(root), Iommu::none);
    files.make_folder("/sys/kernel/iommu_groups");
    EXPECT_EQ(iommu(root), Iommu::none);
}

TEST_F(HostIommu, IsUnknownWithoutSys)
{
    EXPECT_EQ(iommu(root), Iommu::unknown);
}

TEST_F(HostIommu, PassesThroughIfEveryGroupDoes)
{
    group(0, "identity\n");
    group(17, "identity\n");
    EXPECT_EQ(iommu(root), Iommu::passthrough);
}

TEST_F(HostIommu, TranslatesIfAnyGroupDoes)
{
    for (const std::string_view type : {"DMA\n", "DMA-FQ\n", "unmanaged\n", "blocked\n"}) {
        group(0, "identity\n");
        group(1, type);
        EXPECT_EQ(iommu(root), Iommu::translating) << type;
    }
}

TEST_F(HostIommu, IsUnknownIfAGroupIsUnlessAnotherTranslates)
{
    group(0, "identity\n");
    files.make_folder("/sys/kernel/iommu_groups/1");
    EXPECT_EQ(iommu(root), Iommu::unknown);
    group(1, "\n");
    EXPECT_EQ(iommu(root), Iommu::unknown);
    group(1, "unknown\n");
    EXPECT_EQ(iommu(root), Iommu::unknown);
    group(2, "DMA\n");
    EXPECT_EQ(iommu(root), Iommu::translating);
}

TEST_F(HostIommu, ModesHaveNames)
{
    EXPECT_EQ(to_string(Iommu::unknown), "unknown");
    EXPECT_EQ(to_string(Iommu::none), "none");
    EXPECT_EQ(to_string(Iommu::passthrough), "passthrough");
    EXPECT_EQ(to_string(Iommu::translating), "translating");
}
