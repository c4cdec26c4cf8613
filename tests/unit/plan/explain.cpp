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
              "bit 21");
}

TEST(Explain, SaysWhichBreakLimits)
{
    Layout layout = contiguous(4_GiB, 4_MiB);
    layout.append(DmaAddress{8_GiB + 4_MiB}, 4_MiB);
    EXPECT_EQ(make_plan(layout, Iova{4_GiB}, {}).explain(),
              "1 key, 2 entries of 4 MiB; limited by break: an extent begins at iova 0x100400000, aligned only to "
              "4 MiB");
}

TEST(Explain, SaysWhatTheDeviceLacks)
{
    EXPECT_EQ(make_plan(contiguous(4_GiB, 4_GiB), Iova{4_GiB}, {.max_page_shift = PageShift{30}}).explain(),
              "1 key, 4 entries of 1 GiB; limited by device: the device has no larger page");
}

TEST(Explain, SaysWhereASegmentEnds)
{
    EXPECT_EQ(make_plan(contiguous(1_GiB, 4_GiB), Iova{1_GiB}, {.max_segment = 2_GiB}).explain(),
              "1 key, 4 entries of 1 GiB; limited by segment: a DMA segment ends at iova 0xc0000000, aligned only to "
              "1 GiB");
}

TEST(Explain, SaysWhatAUmemAsks)
{
    const Limits umem{.rule = PageSizeRule::umem};
    EXPECT_EQ(make_plan(contiguous(4_GiB, 6_MiB), Iova{4_GiB}, umem).explain(),
              "1 key, 3 entries of 2 MiB; limited by length: it is no multiple of a larger page");
    EXPECT_EQ(
        make_plan(contiguous(4_GiB, 4_MiB), Iova{0x7f0000200000}, umem).explain(),
        "1 key, 2 entries of 2 MiB; limited by congruence: iova 0x7f0000200000 and its DMA address are not both "
        "aligned to more than 2 MiB");
}

TEST(LimitTermName, IsTheWordOfThePlanFormat)
{
    EXPECT_EQ(to_string(LimitTerm::congruence), "congruence");
    EXPECT_EQ(to_string(LimitTerm::breaks), "break");
    EXPECT_EQ(to_string(LimitTerm::length), "length");
    EXPECT_EQ(to_string(LimitTerm::device), "device");
    EXPECT_EQ(to_string(LimitTerm::segment), "segment");
}
