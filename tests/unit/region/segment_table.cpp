// SPDX-License-Identifier: BSD-3-Clause
#include "segment_table.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

namespace mrz::test {
namespace {

//! What a reader finds in one table.
class Tabled {
  public:
    explicit Tabled(std::vector<SearchedRegion> regions)
    {
        std::ranges::sort(regions, std::less<>{});
        table = SegmentTable::make(regions, false);
        head()->tables[MRZ_LOOKUP_TO_READ_] = table ? table->get() : nullptr;
    }
    //! 0: nothing.
    [[nodiscard]] std::uint32_t key(std::uint64_t address, std::uint64_t length) const
    {
        return static_cast<std::uint32_t>(mrz_lookup_word_(reinterpret_cast<const std::uint64_t*>(head() + 1),
                                                           MRZ_LOOKUP_TO_READ_,
                                                           reinterpret_cast<const void*>(address), length));
    }
    std::unique_ptr<SegmentTable> table;

  private:
    [[nodiscard]] mrz_lookup_head_* head() const { return head_.get(); }
    // The slots are not there, as where there is no room for them.
    std::unique_ptr<mrz_lookup_head_> head_ = std::make_unique<mrz_lookup_head_>();
};

TEST(SegmentTable, OfNothingIsNone)
{
    const Tabled none{{}};
    EXPECT_EQ(none.table, nullptr);
    EXPECT_EQ(none.key(0, 1), 0u);
    EXPECT_EQ(none.key(UINT64_MAX, 1), 0u);
}

TEST(SegmentTable, OfAnySizeFindsEachSegmentByItsFirstAndItsLastByteAndNoByteBeside)
{
    constexpr std::uint64_t base = 0x7000'0000'0000;
    constexpr std::uint64_t step = 100;
    constexpr std::uint64_t length = 60;
    std::vector<std::uint32_t> sizes(80);
    std::ranges::generate(sizes, [size = 0u]() mutable { return ++size; });
    for (const std::uint32_t power : {256u, 1024u, 4096u, 16384u})
        sizes.insert(sizes.end(), {power - 1, power, power + 1, power + power / 2});
    for (const std::uint32_t size : sizes) {
        std::vector<SearchedRegion> regions;
        for (std::uint32_t i = 0; i < size; ++i)
            regions.push_back({.start = base + i * step, .end = base + i * step + length, .key = i + 1, .number = i});
        const Tabled tabled{regions};
        ASSERT_EQ(tabled.table->segments(), size);
        for (std::uint32_t i = 0; i < size; ++i) {
            const std::uint64_t start = regions[i].start;
            ASSERT_EQ(tabled.key(start, length), i + 1) << i << " of " << size;
            ASSERT_EQ(tabled.key(start + length - 1, 1), i + 1) << i << " of " << size;
            ASSERT_EQ(tabled.key(start - 1, 1), 0u) << i << " of " << size;
            ASSERT_EQ(tabled.key(start + length, 1), 0u) << i << " of " << size;
            ASSERT_EQ(tabled.key(start, length + 1), 0u) << i << " of " << size;
        }
        ASSERT_EQ(tabled.key(0, 1), 0u);
        ASSERT_EQ(tabled.key(UINT64_MAX, 1), 0u);
    }
}

TEST(SegmentTable, LeavesOutWhatLiesWithinAnother)
{
    const Tabled tabled{{{.start = 0x1000, .end = 0x5000, .key = 1, .number = 0},
                         {.start = 0x1000, .end = 0x2000, .key = 2, .number = 1},
                         {.start = 0x2000, .end = 0x5000, .key = 3, .number = 2},
                         {.start = 0x4000, .end = 0x6000, .key = 4, .number = 3},
                         {.start = 0x4000, .end = 0x6000, .key = 5, .number = 4}}};
    EXPECT_EQ(tabled.table->segments(), 2u);
    EXPECT_EQ(tabled.key(0x3000, 0x2000), 1u);
    EXPECT_EQ(tabled.key(0x4000, 0x2000), 4u);
    EXPECT_EQ(tabled.key(0x3fff, 0x1002), 0u);
}

TEST(SegmentTable, ForgetsOneRegionAndNoOther)
{
    const SearchedRegion second{.start = 0x2000, .end = 0x3000, .key = 2, .number = 1};
    const Tabled tabled{{{.start = 0x1000, .end = 0x2000, .key = 1, .number = 0},
                         second,
                         {.start = 0x3000, .end = 0x4000, .key = 3, .number = 2}}};
    tabled.table->forget(second);
    EXPECT_EQ(tabled.key(0x1000, 0x1000), 1u);
    EXPECT_EQ(tabled.key(0x2000, 1), 0u);
    EXPECT_EQ(tabled.key(0x3000, 0x1000), 3u);
}

} // namespace
} // namespace mrz::test
