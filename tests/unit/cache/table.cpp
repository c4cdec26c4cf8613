// SPDX-License-Identifier: BSD-3-Clause
#include "table.hpp"

#include "range.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace mrz::cache {
namespace {

TEST(CacheTable, FindsNothingInNothing)
{
    const Table table;
    EXPECT_EQ(table.find_local(~std::uintptr_t{0}, Access::local_read).end, 0u);
    EXPECT_EQ(table.find_exact(1, 2, Access::remote_read), nullptr);
}

// Against a look at each region, over gaps, neighbours, nested and overlapping ones, of all rights.
TEST(CacheTable, FindsARegionThatServesWheneverThereIsOne)
{
    std::mt19937_64 random{3};
    const auto below = [&](std::uint64_t n) { return random() % n; };
    Table table;
    std::size_t found = 0;
    for (int round = 0; round < 300; ++round) {
        std::vector<Row> rows;
        const std::size_t count = below(20);
        for (std::size_t i = 0; i < count; ++i) {
            const std::uintptr_t begin = 1 + below(64);
            rows.push_back({begin,
                            {begin + 1 + below(below(4) == 0 ? 40 : 8), static_cast<std::uint32_t>(i),
                             static_cast<Access>(below(below(2) == 0 ? 2 : 16))}});
        }
        std::ranges::sort(rows, {}, &Row::begin);
        table.rebuild(rows);
        for (int question = 0; question < 300; ++question) {
            const std::uintptr_t begin = below(70);
            const Range range{begin, begin + 1 + below(12)};
            const auto access = static_cast<Access>(below(below(2) == 0 ? 2 : 16));
            const auto right = [&](const Row& row) {
                return serves({row.begin, row.entry.end}, row.entry.access, range, access);
            };
            const Entry* entry = has_remote_right(access) ? table.find_exact(range.begin, range.end, access)
                                                          : &table.find_local(range.begin, access);
            if (entry != nullptr && entry->end < range.end)
                entry = nullptr;
            ASSERT_EQ(entry != nullptr, std::ranges::any_of(rows, right));
            if (entry == nullptr)
                continue;
            ++found;
            const auto row =
                std::ranges::find_if(rows, [&](const Row& one) { return one.entry.index == entry->index; });
            ASSERT_NE(row, rows.end());
            ASSERT_TRUE(right(*row));
        }
    }
    EXPECT_GT(found, 1000u);
}

} // namespace
} // namespace mrz::cache
