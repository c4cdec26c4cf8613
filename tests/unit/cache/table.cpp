// SPDX-License-Identifier: BSD-3-Clause
#include "table.hpp"

#include "range.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <vector>

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

// The newest are in a table of their own; what went since the base was made is covered by one of them.
TEST(CacheTable, WithABaseFindsWhatEitherHas)
{
    std::mt19937_64 random{5};
    const auto below = [&](std::uint64_t n) { return random() % n; };
    const auto some_rights = [&] { return static_cast<Access>(below(below(2) == 0 ? 2 : 16)); };
    constexpr std::uint32_t gone = 1000; // and more
    std::size_t found_below = 0;
    for (int round = 0; round < 300; ++round) {
        std::vector<Row> old;
        std::vector<Row> newest;
        for (std::uint32_t i = 0; i < below(20); ++i) {
            const std::uintptr_t begin = 1 + below(64);
            old.push_back({begin, {begin + 1 + below(8), i, some_rights()}});
        }
        std::vector<Row> there = old;
        for (std::uint32_t i = 0; i < below(6); ++i) {
            const std::uintptr_t begin = 1 + below(64);
            const Row row{begin, {begin + 4 + below(20), 100 + i, static_cast<Access>(below(2))}};
            newest.push_back(row);
            there.push_back(row);
            const std::uintptr_t within = begin + below(4);
            old.push_back({within, {row.entry.end - below(row.entry.end - within), gone + i, row.entry.access}});
        }
        std::ranges::sort(old, {}, &Row::begin);
        std::ranges::sort(newest, {}, &Row::begin);
        const auto base = std::make_shared<Table>();
        base->rebuild(old);
        Table table;
        table.rebuild(newest, base);
        for (int question = 0; question < 300; ++question) {
            const std::uintptr_t begin = below(90);
            const Range range{begin, begin + 1 + below(8)};
            const Access access = some_rights();
            const Entry* found = nullptr;
            for (const Table* at = &table; at != nullptr && found == nullptr; at = at->base()) {
                found = has_remote_right(access) ? at->find_exact(range.begin, range.end, access)
                                                 : &at->find_local(range.begin, access);
                if (found != nullptr && found->end < range.end)
                    found = nullptr;
                found_below += found != nullptr && at == base.get() ? 1 : 0;
            }
            const auto right = [&](const Row& row) {
                return serves({row.begin, row.entry.end}, row.entry.access, range, access);
            };
            ASSERT_EQ(found != nullptr, std::ranges::any_of(there, right)) << "round " << round;
            if (found == nullptr)
                continue;
            const auto row =
                std::ranges::find_if(there, [&](const Row& one) { return one.entry.index == found->index; });
            ASSERT_NE(row, there.end()) << "one that is gone, round " << round;
            ASSERT_TRUE(right(*row));
        }
    }
    EXPECT_GT(found_below, 1000u);
}

} // namespace
} // namespace mrz::cache
