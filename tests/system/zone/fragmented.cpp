// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Pools that are fragmented on purpose: what an arena makes of them, beside other kinds of memory and beside a
//! search of the test's own.
#include <mrzone/zone.hpp>

#include "support/eal.hpp"
#include "support/fragmented_pool.hpp"
#include "support/hugetlbfs_mount.hpp"
#include "support/in_child.hpp"
#include "support/require.hpp"

#include <gtest/gtest.h>

#include <rte_config.h>
#include <rte_memzone.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

using namespace mrz;
using namespace mrz::test;

namespace {

constexpr std::size_t size = 256_MiB;
constexpr std::uint64_t pages = size / FragmentedPool::page_size; // a power of two
constexpr std::uint64_t pool_pages = 600;

std::vector<std::uint64_t> sorted_numbers(const std::vector<DmaAddress>& frames)
{
    std::vector<std::uint64_t> numbers;
    for (const DmaAddress frame : frames)
        numbers.push_back(frame.value() / FragmentedPool::page_size);
    std::sort(numbers.begin(), numbers.end());
    return numbers;
}

// Of free pages, how many are there from the start of each block of `block` pages on, up to its end, and in all.
struct BlockCount {
    std::uint64_t whole = 0;
    std::uint64_t longest_head = 0;
    std::uint64_t longest_tail = 0;
    std::uint64_t longest_run = 0;
};

BlockCount count_blocks(const std::vector<std::uint64_t>& numbers, std::uint64_t block)
{
    const std::set<std::uint64_t> there{numbers.begin(), numbers.end()};
    std::set<std::uint64_t> starts;
    for (const std::uint64_t number : numbers)
        starts.insert(number / block * block);
    BlockCount count;
    for (const std::uint64_t start : starts) {
        std::uint64_t head = 0;
        while (head < block && there.contains(start + head))
            ++head;
        if (head == block) {
            ++count.whole;
            count.longest_run = block;
            continue;
        }
        std::uint64_t tail = 0;
        while (there.contains(start + block - 1 - tail))
            ++tail;
        std::uint64_t run = 0;
        for (std::uint64_t at = start; at < start + block; ++at) {
            run = there.contains(at) ? run + 1 : 0;
            count.longest_run = std::max(count.longest_run, run);
        }
        count.longest_head = std::max(count.longest_head, head);
        count.longest_tail = std::max(count.longest_tail, tail);
    }
    return count;
}

// Entries of the best key over any of these pages, in any order, at any address.
std::uint64_t fewest_entries(const std::vector<std::uint64_t>& numbers, std::uint64_t largest_block)
{
    std::uint64_t fewest = pages;
    for (std::uint64_t block = 1; block <= largest_block; block *= 2) {
        const BlockCount have = count_blocks(numbers, block);
        if (block >= pages && have.longest_run >= pages)
            return 1;
        if (block >= pages && have.longest_head + have.longest_tail >= pages)
            fewest = std::min<std::uint64_t>(fewest, 2);
        if (block < pages && have.whole >= pages / block)
            fewest = std::min(fewest, pages / block);
        if (block < pages && have.whole + 1 >= pages / block && have.longest_head + have.longest_tail >= block)
            fewest = std::min(fewest, pages / block + 1);
    }
    return fewest;
}

// The cost of the best of all sets of block sizes, each with a key of its own, with any number of the longest runs
// beside them, under one more key. It knows neither parts of blocks at a key's ends nor other runs than the longest.
std::uint64_t cheapest_groups(std::vector<std::uint64_t> numbers, const Weights& weights)
{
    std::uint64_t best = ~std::uint64_t{0};
    std::uint64_t need = pages;
    std::uint64_t paid = weights.mkey;
    for (;;) {
        for (unsigned sizes = 1; sizes < 256; ++sizes) {
            std::vector<std::uint64_t> left = numbers;
            std::uint64_t rest = need;
            std::uint64_t cost = paid;
            for (unsigned order = 8; order-- > 0 && rest > 0;) {
                if ((sizes >> order & 1) == 0)
                    continue;
                const std::uint64_t block = std::uint64_t{1} << order;
                std::map<std::uint64_t, std::uint64_t> in_block;
                for (const std::uint64_t number : left)
                    ++in_block[number / block];
                const auto whole = [&](const auto& one) { return one.second == block; };
                const auto all = static_cast<std::uint64_t>(std::count_if(in_block.begin(), in_block.end(), whole));
                const std::uint64_t blocks = std::min(all, (rest + block - 1) / block);
                if (blocks == 0)
                    continue;
                cost += weights.mkey + weights.indirect + weights.mtt * blocks;
                rest -= std::min(rest, blocks * block);
                if (cost >= best)
                    break;
                // All of the whole blocks are used, or nothing is needed any more.
                std::erase_if(left, [&](std::uint64_t number) { return in_block[number / block] == block; });
            }
            if (rest == 0)
                best = std::min(best, cost);
        }
        std::size_t longest = 0;
        std::size_t length = 0;
        for (std::size_t from = 0, to = 0; from < numbers.size(); from = to) {
            for (to = from + 1; to < numbers.size() && numbers[to] == numbers[to - 1] + 1;)
                ++to;
            if (to - from > length) {
                longest = from;
                length = to - from;
            }
        }
        paid += weights.mkey + weights.indirect + weights.mtt;
        if (length >= need)
            return std::min(best, paid);
        need -= length;
        if (paid >= best || length == 0)
            return best;
        const auto from = numbers.begin() + static_cast<std::ptrdiff_t>(longest);
        numbers.erase(from, from + static_cast<std::ptrdiff_t>(length));
    }
}

SeenMemory memzone()
{
    const rte_memzone* const zone = rte_memzone_reserve("fragmented", size, SOCKET_ID_ANY, 0);
    if (zone == nullptr)
        throw std::runtime_error{"no memzone"};
    // It begins within a page, whose whole is needed.
    const std::uintptr_t from = reinterpret_cast<std::uintptr_t>(zone->addr) / 2_MiB * 2_MiB;
    const SeenMemory seen = SeenMemory::of(reinterpret_cast<const void*>(from), size);
    rte_memzone_free(zone);
    return seen;
}

class FragmentedPools : public testing::TestWithParam<unsigned> {
  protected:
    void SetUp() override { MRZ_REQUIRE(geteuid() == 0, "needs root"); }
};

// What the arena's zone costs; checks it against the searches on the way.
void expect_best(const std::vector<DmaAddress>& free, const Limits& limits, std::uint64_t others_least)
{
    Arena arena = Arena::build("fragmented", {.size = size, .surplus = Surplus::pool(0), .limits = limits});
    const Zone zone = arena.reserve("zone", size);
    const SeenMemory seen = SeenMemory::of(zone.bytes().data(), size);
    const std::vector<std::uint64_t> numbers = sorted_numbers(free);
    const std::uint64_t largest = limits.max_page_shift.bytes() / FragmentedPool::page_size;
    // A page is the header, so one of those that a choice spares is not there; it is never one that it needs.
    const Weights weights;
    const std::uint64_t one_key = weights.mkey + weights.mtt * fewest_entries(numbers, largest);
    const Plan plan = arena.windows()[0].plan(limits, PlanOptions{});
    EXPECT_EQ(seen.cheapest(limits).cost(), plan.cost());
    if (!limits.indirect.klm) {
        EXPECT_EQ(plan.cost(), one_key);
        EXPECT_EQ(seen.one_key(limits).mtt_entries(), fewest_entries(numbers, largest));
    } else {
        EXPECT_LE(plan.cost(), std::min(one_key, cheapest_groups(numbers, weights)));
    }
    EXPECT_LE(plan.cost(), others_least);
    testing::Test::RecordProperty(limits.indirect.klm ? "cost_klm" : "cost", static_cast<int>(plan.cost()));
}

} // namespace

TEST_P(FragmentedPools, AnArenaCostsWhatTheBestChoiceOfTheFreePagesDoesAndNoOtherMemoryLess)
{
    const FragmentedPool pool{pool_pages, GetParam(), 11};
    const std::vector<std::vector<std::string>> kinds = {
        {"--in-memory", "--iova-mode=pa"},
        {"--in-memory", "--iova-mode=va"},
        {"--legacy-mem", "--no-shconf", "-m", "280", "--huge-unlink", "--iova-mode=va"},
    };
    for (const bool klm : {false, true}) {
        const Limits limits = klm ? limits_with_klm() : WindowOptions{}.limits;
        for (const auto& kind : kinds)
            in_child([&] {
                std::vector<std::string> arguments = kind;
                std::optional<HugetlbfsMount> mount;
                std::uint64_t best = 0;
                if (kind.front() == "--legacy-mem") {
                    mount.emplace();
                    arguments.push_back("--huge-dir=" + mount->path());
                }
                {
                    const Window window =
                        Window::build({.size = size, .surplus = Surplus::pool(0), .limits = limits});
                    best = window.plan(limits, PlanOptions{}).cost();
                }
                shuffled_free_pages(5);
                std::uint64_t others = plain_mapping(size).cheapest(limits).cost();
                shuffled_free_pages(6);
                const Eal eal{arguments};
                others = std::min(others, memzone().cheapest(limits).cost());
                EXPECT_LE(best, others);
                if (!mount) // else the EAL has taken what an arena needs
                    expect_best(shuffled_free_pages(7), limits, others);
            });
    }
    EXPECT_EQ(read_pool(2_MiB).free, pool.free_frames().size());
}

INSTANTIATE_TEST_SUITE_P(Held, FragmentedPools, testing::Values(0u, 5u, 20u, 50u),
                         [](const auto& held) { return std::to_string(held.param) + "percent"; });
