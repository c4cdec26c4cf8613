// SPDX-License-Identifier: BSD-3-Clause
#include "key_request.hpp"

#include <layouts/memory.hpp>
#include <layouts/wqe.hpp>

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace mrz::mlx5 {
namespace {

namespace head = layouts::wqe_ctrl_seg;
namespace umr = layouts::wqe_umr_ctrl_seg;
namespace key = layouts::mkey_seg;

std::uint64_t of_request(std::span<const std::byte> request, layouts::Field field)
{
    return layouts::get(request.subspan(head::bytes), field);
}
std::uint64_t of_key(std::span<const std::byte> request, layouts::Field field)
{
    return layouts::get(request.subspan(head::bytes + umr::bytes), field);
}

TEST(Mlx5KeyRequest, ThatFreesAKeySaysNothingElse)
{
    std::vector<std::byte> request = request_freeing(0x123456, 0xabcdef5a);
    EXPECT_EQ(request.size(), 128U);
    EXPECT_EQ(layouts::get(request, head::opcode), 0x25U);
    EXPECT_EQ(layouts::get(request, head::qpn), 0x123456U);
    EXPECT_EQ(layouts::get(request, head::ds), 8U);
    EXPECT_EQ(layouts::get(request, head::imm), 0xabcdef5aU);
    EXPECT_EQ(layouts::get(request, head::fm_ce_se), 0U);
    EXPECT_EQ(of_request(request, umr::mkey_mask), layouts::umr_mask::free);
    EXPECT_EQ(of_request(request, umr::xlt_octowords), 0U);
    EXPECT_EQ(of_key(request, key::free), 1U);
    signal(request);
    EXPECT_EQ(layouts::get(request, head::fm_ce_se), 8U);
}

TEST(Mlx5KeyRequest, ThatFillsAKeyHasItsNewVariantAndAllEntries)
{
    const std::array entries{MkeyEntry{0x8000'0000, 0x11111111, Iova{0x7f00'0000'1000}},
                             MkeyEntry{9, 0x22222222, Iova{77}}, MkeyEntry{1, 3, Iova{4}}, MkeyEntry{1, 3, Iova{5}},
                             MkeyEntry{1, 3, Iova{6}}};
    std::vector<std::byte> request = request_filling(7, {.mkey = 0xabcdef5a,
                                                         .variant = 0x66,
                                                         .start = Iova{0x1234'5678'9abc},
                                                         .length = 0x8000'000c,
                                                         .entries = entries});
    EXPECT_EQ(request.size(), 128U + 8 * 16);
    EXPECT_EQ(layouts::get(request, head::ds), 16U);
    EXPECT_EQ(layouts::get(request, head::imm), 0xabcdef5aU);
    EXPECT_EQ(layouts::get(request, head::fm_ce_se), 3U << 5);
    EXPECT_EQ(of_request(request, umr::flags),
              layouts::umr_inline | layouts::umr_translation_offset | layouts::umr_fail_if_not_free);
    EXPECT_EQ(of_request(request, umr::xlt_octowords), 8U);
    EXPECT_EQ(of_request(request, umr::xlt_offset), 0U);
    EXPECT_EQ(of_request(request, umr::mkey_mask), layouts::umr_mask::free | layouts::umr_mask::key |
                                                       layouts::umr_mask::start_addr | layouts::umr_mask::len);
    EXPECT_EQ(of_key(request, key::free), 0U);
    EXPECT_EQ(of_key(request, key::mkey_7_0), 0x66U);
    EXPECT_EQ(of_key(request, key::qpn), 0xffffffU);
    EXPECT_EQ(of_key(request, key::start_addr), 0x1234'5678'9abcU);
    EXPECT_EQ(of_key(request, key::len), 0x8000'000cU);
    const auto list = std::span{request}.subspan(128);
    EXPECT_EQ(layouts::get(list, layouts::klm::bcount), 0x8000'0000U);
    EXPECT_EQ(layouts::get(list, layouts::klm::key), 0x11111111U);
    EXPECT_EQ(layouts::get(list, layouts::klm::va), 0x7f00'0000'1000U);
    EXPECT_EQ(layouts::get(list.subspan(16), layouts::klm::bcount), 9U);
    for (std::size_t i = 5 * 16; i < list.size(); ++i)
        EXPECT_EQ(list[i], std::byte{0}) << i;
    signal(request);
    EXPECT_EQ(layouts::get(request, head::fm_ce_se), 3U << 5 | 8U);
    EXPECT_EQ(layouts::get(request_filling(7, {.entries = entries, .small_fence = true}), head::fm_ce_se), 1U << 5);
}

TEST(Mlx5KeyRequest, FitsIntoAPlaceOfTheQueueWithTheMostEntries)
{
    const std::vector<MkeyEntry> entries(most_movable_entries, MkeyEntry{1, 1, Iova{}});
    EXPECT_EQ(request_filling(1, {.entries = entries}).size(), 896U);
}

TEST(Mlx5MovableMkey, IsFreeAndHasRoom)
{
    const Command command =
        create_movable_mkey({.pd = 9, .local_read = false, .access = Access::remote_read, .variant = 0x5a}, 5);
    const auto context = layouts::part(command.bytes(), layouts::create_mkey_in::memory_key_mkey_entry);
    namespace mkc = layouts::mkc;
    EXPECT_EQ(command.bytes().size(), layouts::create_mkey_in::bytes);
    EXPECT_EQ(layouts::get(context, mkc::free), 1U);
    EXPECT_EQ(layouts::get(context, mkc::umr_en), 1U);
    EXPECT_EQ(layouts::get(context, mkc::access_mode_1_0), 2U);
    EXPECT_EQ(layouts::get(context, mkc::translations_octword_size), 8U);
    EXPECT_EQ(layouts::get(context, mkc::lr), 0U);
    EXPECT_EQ(layouts::get(context, mkc::rr), 1U);
    EXPECT_EQ(layouts::get(context, mkc::rw), 0U);
}

} // namespace
} // namespace mrz::mlx5
