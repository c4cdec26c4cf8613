// SPDX-License-Identifier: BSD-3-Clause
#include "capabilities.hpp"

#include "mkey.hpp"

#include <layouts/capabilities.hpp>

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace mrz::mlx5 {
namespace {

namespace cap = layouts::cmd_hca_cap;

TEST(Mlx5Capabilities, AreReadFromTheGeneralGroup)
{
    std::vector<std::byte> group(cap::bytes);
    layouts::set(group, cap::max_indirection, 4);
    layouts::set(group, cap::fixed_buffer_size, 1);
    layouts::set(group, cap::log_max_klm_list_size, 16);
    layouts::set(group, cap::relaxed_ordering_write, 1);
    const Capabilities told = parse_capabilities(group);
    EXPECT_EQ(told.max_indirection, 4U);
    EXPECT_TRUE(told.fixed_buffer_size);
    EXPECT_EQ(told.log_max_klm_list_size, 16U);
    EXPECT_TRUE(told.relaxed_ordering_write);
    EXPECT_FALSE(told.relaxed_ordering_read);
    EXPECT_TRUE(told.requests_change_indirect_keys);
    EXPECT_FALSE(told.umems);
    layouts::set(group, cap::log_max_umem, 20);
    EXPECT_TRUE(parse_capabilities(group).umems);
    layouts::set(group, cap::umr_indirect_mkey_disabled, 1);
    EXPECT_FALSE(parse_capabilities(group).requests_change_indirect_keys);
    for (const auto& [fence, small] : {std::pair{0U, false}, {1U, true}, {2U, true}}) {
        layouts::set(group, cap::umr_fence, fence);
        EXPECT_EQ(parse_capabilities(group).small_fence_suffices, small) << fence;
    }
}

TEST(Mlx5Capabilities, OfAShortAnswerAreNone)
{
    const Capabilities told = parse_capabilities(std::vector<std::byte>(8));
    EXPECT_EQ(told.max_indirection, 0U);
    EXPECT_FALSE(to_limits(told, {}).indirect.klm);
}

TEST(Mlx5Limits, AreThoseOfUmemsWithinWhatTheKernelStands)
{
    const Limits verbs{.max_page_shift = PageShift{30}, .max_segment = 2_GiB};
    const Limits limits =
        to_limits({.max_indirection = 1, .fixed_buffer_size = true, .log_max_klm_list_size = 6}, verbs);
    EXPECT_EQ(limits.rule, PageSizeRule::umem);
    EXPECT_EQ(limits.max_page_shift, PageShift{30});
    EXPECT_EQ(limits.max_segment, 2_GiB);
    EXPECT_TRUE(limits.indirect.klm);
    EXPECT_TRUE(limits.indirect.ksm);
    EXPECT_EQ(limits.indirect.max_entries, 64U);
}

TEST(Mlx5Limits, HaveNoLongerListsThanACommandCarries)
{
    for (const unsigned log : {16U, 63U, 255U})
        EXPECT_EQ(to_limits({.max_indirection = 1, .log_max_klm_list_size = log}, {}).indirect.max_entries,
                  most_indirect_entries);
    EXPECT_LE(272 + 16 * most_indirect_entries, 65535U);
    EXPECT_EQ(most_indirect_entries % 4, 0U);
}

TEST(Mlx5Limits, HaveNoKeysOverOthersWhereTheDeviceHasNone)
{
    const Limits none = to_limits({.max_indirection = 0, .fixed_buffer_size = true, .log_max_klm_list_size = 16}, {});
    EXPECT_FALSE(none.indirect.klm);
    EXPECT_FALSE(none.indirect.ksm);
    EXPECT_FALSE(to_limits({.max_indirection = 4, .log_max_klm_list_size = 16}, {}).indirect.ksm);
}

} // namespace
} // namespace mrz::mlx5
