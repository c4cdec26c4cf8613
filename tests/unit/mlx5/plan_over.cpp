// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Plans over memory that is pinned already, against a model that follows every page.
#include "proposal.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <random>
#include <set>
#include <vector>

namespace mrz::mlx5 {
namespace {

constexpr std::uint64_t small = 4096;

Limits limits_with_klm()
{
    Limits limits{.rule = PageSizeRule::umem};
    limits.indirect = {.klm = true, .max_entries = 100};
    return limits;
}

//! Memory that begins anywhere in its first umem and ends anywhere in its last.
struct Pinned {
    Layout layout;
    std::vector<UmemPiece> pieces;
};

Pinned random_memory(std::mt19937_64& random)
{
    const auto below = [&](std::uint64_t bound) { return random() % bound; };
    Pinned memory;
    std::uint64_t dma = 0x1'0000'0000;
    const std::uint64_t umems = 1 + below(4);
    for (std::uint64_t i = 0; i < umems; ++i) {
        const PageShift page{static_cast<unsigned>(12 + below(10))};
        const std::uint64_t pages = 1 + below(5);
        std::uint64_t skip = i == 0 ? below(page.bytes()) : 0;
        const std::size_t offset = memory.layout.length();
        for (std::uint64_t n = 0; n < pages; ++n) {
            dma = (dma / page.bytes() + 1 + below(3)) * page.bytes();
            std::uint64_t length = page.bytes() - skip;
            if (i + 1 == umems && n + 1 == pages)
                length = 1 + below(length);
            memory.layout.append(DmaAddress{dma + skip}, length);
            skip = 0;
        }
        memory.pieces.push_back(
            {.offset = offset, .length = memory.layout.length() - offset, .page_shift = page, .limit = {}});
    }
    return memory;
}

DmaAddress dma_at(const Layout& layout, std::size_t offset)
{
    for (const Extent& extent : layout.extents())
        if (offset < extent.offset + extent.length)
            return extent.dma + (offset - extent.offset);
    return {};
}

//! What a device finds at a byte: by a direct key's pages, which lie where the umem's do.
DmaAddress found(const Plan& plan, const Pinned& memory, std::size_t offset)
{
    std::size_t index = 0;
    Iova at = plan.keys.front().iova + offset;
    if (plan.indirect) {
        const auto& entries = plan.indirect->entries;
        const auto entry = std::ranges::find_if(
            entries, [&](const IndirectEntry& e) { return offset >= e.offset && offset < e.offset + e.length; });
        index = entry->key;
        at = plan.leads_to(*entry) + (offset - entry->offset);
    }
    const PlannedKey& key = plan.keys[index];
    const std::uint64_t page = key.page_shift.bytes();
    // The umem's page that this page of the key is, found by any byte of it that is in memory.
    const std::uint64_t place = at.value() / page * page;
    const std::uint64_t first = std::max(place, key.iova.value());
    const DmaAddress there = dma_at(memory.layout, key.offset + (first - key.iova.value()));
    return DmaAddress{there.value() / page * page + at.value() % page};
}

TEST(Mlx5PlanOver, LeadsEveryByteToItsFrame)
{
    std::mt19937_64 random{7};
    unsigned direct = 0;
    for (int round = 0; round < 2000; ++round) {
        const Pinned memory = random_memory(random);
        const DmaAddress first = memory.layout.extents().front().dma;
        // Congruent to the frames at all sizes, at some, or at none but the smallest.
        const std::uint64_t agree = std::uint64_t{1} << (12 + random() % 12);
        const Iova iova{(std::uint64_t{1} << 40) + random() % 16 * agree + first.value() % agree};
        const auto plan = plan_over(memory.pieces, memory.layout, iova, {}, limits_with_klm());
        ASSERT_TRUE(plan);
        ASSERT_EQ(plan->bytes, memory.layout.length());
        ASSERT_EQ(plan->umems.size(), plan->keys.size());
        direct += plan->indirect ? 0 : 1;
        const bool congruent = (iova.value() ^ first.value()) % memory.pieces.front().page_shift.bytes() == 0;
        ASSERT_EQ(!plan->indirect, memory.pieces.size() == 1 && congruent);
        ASSERT_EQ(plan->indirect ? plan->indirect->iova : plan->keys.front().iova, iova);
        for (int look = 0; look < 20; ++look) {
            const std::size_t offset = random() % plan->bytes;
            ASSERT_EQ(found(*plan, memory, offset), dma_at(memory.layout, offset)) << round << ' ' << offset;
        }
        for (const PlannedKey& key : plan->keys) {
            std::set<std::uint64_t> pages;
            for (std::uint64_t at = 0; at < key.length; at += std::min(small, key.length - at))
                pages.insert(dma_at(memory.layout, key.offset + at).value() >> key.page_shift.value());
            pages.insert(dma_at(memory.layout, key.offset + key.length - 1).value() >> key.page_shift.value());
            ASSERT_EQ(key.entries, pages.size());
        }
    }
    EXPECT_GT(direct, 100U);
}

TEST(Mlx5PlanOver, IsNoneWhereKeysOverOthersAreNotAllowed)
{
    Layout layout;
    layout.append(DmaAddress{0x20'0000}, 0x20'0000);
    layout.append(DmaAddress{0x80'0000}, 0x20'0000);
    const std::vector<UmemPiece> pieces{{.length = 0x20'0000, .page_shift = PageShift{21}},
                                        {.offset = 0x20'0000, .length = 0x20'0000, .page_shift = PageShift{21}}};
    const Iova iova{0x7f00'0000'0000};
    EXPECT_TRUE(plan_over(pieces, layout, iova, {}, limits_with_klm()));
    EXPECT_FALSE(plan_over(pieces, layout, iova, {.indirect = false}, limits_with_klm()));
    EXPECT_FALSE(plan_over(pieces, layout, iova, {}, {}));
    Limits few = limits_with_klm();
    few.indirect.max_entries = 1;
    EXPECT_FALSE(plan_over(pieces, layout, iova, {}, few));
}

TEST(Mlx5PlanOver, CutsWhatIsLongerThanAnEntryMayBe)
{
    Layout layout;
    layout.append(DmaAddress{std::uint64_t{1} << 33}, 5_GiB);
    const std::vector<UmemPiece> one{{.length = 5_GiB, .page_shift = PageShift{30}}};
    const auto plan = plan_over(one, layout, Iova{0x7f00'0000'1000}, {}, limits_with_klm());
    ASSERT_TRUE(plan && plan->indirect);
    ASSERT_EQ(plan->indirect->entries.size(), 3U);
    EXPECT_EQ(plan->indirect->entries[2].length, 1_GiB);
    EXPECT_EQ(plan->keys.front().entries, 5U);
}

} // namespace
} // namespace mrz::mlx5
