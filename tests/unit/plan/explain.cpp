// SPDX-License-Identifier: BSD-3-Clause
#include <mrzone/plan.hpp>

#include <gtest/gtest.h>

using namespace mrz;

namespace {

Layout contiguous(std::uint64_t dma, std::size_t length)
{
    Layout layout;
    layout.append(DmaAddress{dma}, length);
    return layout;
}

} // namespace

TEST(Explain, SaysThatOnePageCoversItAll)
{
    EXPECT_EQ(make_plan(contiguous(4_GiB, 1_GiB), Iova{4_GiB}, {}).explain(),
              "1 key, 1 entry of 1 GiB; limited by length: one page covers it all");
}

TEST(Explain, SaysWhereAndInWhichBitAddressesDiffer)
{
    EXPECT_EQ(make_plan(contiguous(4_GiB, 1_GiB), Iova{0x7f0000200000}, {}).explain(),
              "1 key, 512 entries of 2 MiB; limited by congruence: iova 0x7f0000200000 and its DMA address differ in "
              "bit 21; placed at 0x100000000 it would be 1 entry");
}

TEST(Explain, SaysWhichBreakLimits)
{
    Layout layout = contiguous(4_GiB, 4_MiB);
    layout.append(DmaAddress{8_GiB + 4_MiB}, 4_MiB);
    EXPECT_EQ(make_plan(layout, Iova{4_GiB}, {}).explain(),
              "1 key, 2 entries of 4 MiB; limited by break: an extent begins at iova 0x100400000, aligned only to "
              "4 MiB; extents that begin at multiples of 8 MiB would remove that");
}

TEST(Explain, SaysWhatTheDeviceLacks)
{
    EXPECT_EQ(
        make_plan(contiguous(4_GiB, 4_GiB), Iova{4_GiB}, {.max_page_shift = PageShift{30}}).explain(),
        "1 key, 4 entries of 1 GiB; limited by device: the device has no larger page; only pages of 2 GiB would "
        "remove that");
}

TEST(Explain, SaysWhereASegmentEnds)
{
    EXPECT_EQ(make_plan(contiguous(1_GiB, 4_GiB), Iova{1_GiB}, {.max_segment = 2_GiB}).explain(),
              "1 key, 4 entries of 1 GiB; limited by segment: a DMA segment ends at iova 0xc0000000, aligned only to "
              "1 GiB; longer DMA segments, or ends of segments at multiples of 2 GiB, would remove that");
}

TEST(Explain, SaysWhatAUmemAsks)
{
    const Limits umem{.rule = PageSizeRule::umem};
    EXPECT_EQ(make_plan(contiguous(4_GiB, 6_MiB), Iova{4_GiB}, umem).explain(),
              "1 key, 3 entries of 2 MiB; limited by length: it is no multiple of a larger page; a multiple of 4 MiB "
              "would remove that");
    EXPECT_EQ(
        make_plan(contiguous(4_GiB, 4_MiB), Iova{0x7f0000200000}, umem).explain(),
        "1 key, 2 entries of 2 MiB; limited by congruence: iova 0x7f0000200000 and its DMA address are not both "
        "aligned to more than 2 MiB; placed at 0x100000000 it would be 1 entry");
}

TEST(Explain, SaysWhatIsMissingWhereNoIovaHelps)
{
    Layout layout = contiguous(4_GiB, 2_MiB);
    layout.append(DmaAddress{8_GiB}, 2_MiB);
    EXPECT_EQ(
        make_plan(layout, Iova{4_GiB}, {}).explain(),
        "1 key, 2 entries of 2 MiB; limited by congruence: iova 0x100200000 and its DMA address differ in bit 21; "
        "memory whose extents agree with their iovas below 4 MiB would remove that");
}

TEST(Explain, SaysHowManyKeysAreUnderAnIndirectOne)
{
    const Limits both{.indirect = {.klm = true, .ksm = true}};
    Layout odd = contiguous(4_GiB, 6_MiB);
    odd.append(DmaAddress{8_GiB + 4_KiB}, 3_MiB);
    odd.append(DmaAddress{16_GiB}, 3_MiB);
    EXPECT_EQ(
        make_optimal_plan(odd, {}, both).explain(),
        "1 key over 3 (KLM), 3 entries and 3 indirect ones; limited by length in the key of 6 MiB at offset 0x0: "
        "one page covers it all");
    Layout even = contiguous(4_GiB, 8_MiB);
    even.append(DmaAddress{8_GiB + 4_KiB}, 8_MiB);
    EXPECT_EQ(make_optimal_plan(even, {}, both).explain(),
              "1 key over 2 (KSM of 8 MiB), 2 entries and 2 indirect ones; limited by length in the key of 8 MiB at "
              "offset 0x0: one page covers it all");
    EXPECT_EQ(make_optimal_plan(contiguous(4_GiB, 1_GiB), {.iova = Iova{0x7f0000200000}}, both).explain(),
              "1 key over 1 (KSM of 2 GiB), 1 entry of 1 GiB and 1 indirect one; limited by length: one page covers "
              "it all; "
              "placed at 0x100000000 it would be 1 key, 1 entry");
}

TEST(Explain, SaysWhereInMemoryOneOfSeveralKeysIsLimited)
{
    Layout layout = contiguous(4_GiB + 4_KiB, 3_MiB);
    for (std::uint64_t page = 8; page > 0; --page)
        layout.append(DmaAddress{8_GiB + page * 2_MiB}, 2_MiB);
    EXPECT_EQ(
        make_optimal_plan(layout, {}, {.indirect = {.klm = true}}).explain(),
        "1 key over 2 (KLM), 9 entries and 2 indirect ones; limited by break in the key of 16 MiB at offset "
        "0x300000: an extent begins at the iova of offset 0x500000, aligned only to 2 MiB; extents that begin at "
        "multiples of 4 MiB would remove that");
}

TEST(IndirectKindName, IsTheWordOfThePlanFormat)
{
    EXPECT_EQ(to_string(IndirectKind::klm), "klm");
    EXPECT_EQ(to_string(IndirectKind::ksm), "ksm");
}

TEST(LimitTermName, IsTheWordOfThePlanFormat)
{
    EXPECT_EQ(to_string(LimitTerm::congruence), "congruence");
    EXPECT_EQ(to_string(LimitTerm::breaks), "break");
    EXPECT_EQ(to_string(LimitTerm::length), "length");
    EXPECT_EQ(to_string(LimitTerm::device), "device");
    EXPECT_EQ(to_string(LimitTerm::segment), "segment");
}
