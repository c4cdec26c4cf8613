// SPDX-License-Identifier: BSD-3-Clause
#include "limits.hpp"

#include <gtest/gtest.h>

namespace mrz::verbs {
namespace {

ibv_device_attr device(std::uint64_t sizes, std::uint32_t vendor = 0x2c9)
{
    ibv_device_attr attributes{};
    attributes.page_size_cap = sizes;
    attributes.vendor_id = vendor;
    return attributes;
}

TEST(VerbsLimits, AreTheDevicesPageSizesUpToWhatTheKernelStands)
{
    const Limits all = to_limits(device(~std::uint64_t{4095}), PageShift{31}); // as mlx5 reports them
    EXPECT_EQ(all.min_page_shift, PageShift{12});
    EXPECT_EQ(all.max_page_shift, PageShift{31});
    EXPECT_EQ(all.max_segment, 2_GiB);
    EXPECT_FALSE(has_gaps(device(~std::uint64_t{4095}), all));
    EXPECT_EQ(to_limits(device(~std::uint64_t{4095}), PageShift{30}).max_page_shift, PageShift{30});
    const Limits few = to_limits(device(64_KiB | 128_KiB), PageShift{31});
    EXPECT_EQ(few.min_page_shift, PageShift{16});
    EXPECT_EQ(few.max_page_shift, PageShift{17});
    EXPECT_FALSE(has_gaps(device(64_KiB | 128_KiB), few));
}

TEST(VerbsLimits, OfSoftwareDevicesEndWhereTheKernelsAddressesAgreeWithFrames)
{
    for (const std::uint32_t vendor : {0xffffffU, 0x626d74U}) {
        const Limits limits = to_limits(device(0xfffff000, vendor), PageShift{31});
        EXPECT_TRUE(is_software(device(0, vendor)));
        EXPECT_EQ(limits.max_page_shift, PageShift{30});
        EXPECT_FALSE(limits.max_segment);
    }
    EXPECT_FALSE(is_software(device(0)));
}

TEST(VerbsLimits, AreWholeThoughADeviceReportsNonsense)
{
    const Limits none = to_limits(device(0), PageShift{31});
    EXPECT_EQ(none.min_page_shift, PageShift{12});
    EXPECT_EQ(none.max_page_shift, PageShift{31});
    const Limits small = to_limits(device(1024 | 2048), PageShift{31});
    EXPECT_EQ(small.min_page_shift, PageShift{12});
    EXPECT_EQ(small.max_page_shift, PageShift{12});
    const Limits large = to_limits(device(std::uint64_t{1} << 40), PageShift{30});
    EXPECT_EQ(large.min_page_shift, PageShift{30});
    EXPECT_EQ(large.max_page_shift, PageShift{30});
}

TEST(VerbsLimits, SayIfThereAreGaps)
{
    const ibv_device_attr attributes = device(4_KiB | 2_MiB | 1_GiB); // as irdma reports them
    EXPECT_TRUE(has_gaps(attributes, to_limits(attributes, PageShift{30})));
}

TEST(VerbsLimits, PageOnDemandOnlyIfEveryOperationMay)
{
    ibv_device_attr_ex attributes{};
    EXPECT_FALSE(pages_on_demand(attributes));
    attributes.odp_caps.general_caps = IBV_ODP_SUPPORT;
    attributes.odp_caps.per_transport_caps.rc_odp_caps =
        IBV_ODP_SUPPORT_SEND | IBV_ODP_SUPPORT_WRITE | IBV_ODP_SUPPORT_READ;
    EXPECT_FALSE(pages_on_demand(attributes));
    attributes.odp_caps.per_transport_caps.rc_odp_caps |= IBV_ODP_SUPPORT_RECV;
    EXPECT_TRUE(pages_on_demand(attributes));
}

} // namespace
} // namespace mrz::verbs
