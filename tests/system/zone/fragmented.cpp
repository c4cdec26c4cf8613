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
constexpr std::uint64_t pages = size / fragmented_page_size; // a power of two
constexpr std::uint64_t pool_pages = 600;

std::vector<std::uint64_t> sorted_numbers(const std::vector<DmaAddress>& frames)
{
    std::vector<std::uint64_t> numbers;
    for (const DmaAddress frame : frames)
        numbers.push_back(frame.value() / fragmented_page_size);
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

class FragmentedPoolsBesideGigabytes : public testing::Test {
  protected:
    void SetUp() override { MRZ_REQUIRE(geteuid() == 0, "needs root"); }
};

std::uint64_t cost_of_window(const Limits& limits)
{
    return Window::build({.size = size, .surplus = Surplus::pool(0), .limits = limits})
        .plan(limits, PlanOptions{})
        .cost();
}

// An arena's zone costs what the searches find in the pages that are free.
void expect_best(const Limits& limits)
{
    const std::vector<std::uint64_t> free = sorted_numbers(shuffled_free_pages(7));
    Arena arena = Arena::build("fragmented", {.size = size, .surplus = Surplus::pool(0), .limits = limits});
    const Zone zone = arena.reserve("zone", size);
    const Weights weights;
    const std::uint64_t entries = fewest_entries(free, limits.max_page_shift.bytes() / fragmented_page_size);
    const Plan plan = SeenMemory::of(zone.bytes().data(), size).cheapest(limits);
    EXPECT_EQ(plan.cost(), arena.windows()[0].plan(limits, PlanOptions{}).cost());
    const std::uint64_t one_key = weights.mkey + weights.mtt * entries;
    if (limits.indirect.klm)
        EXPECT_LE(plan.cost(), std::min(one_key, cheapest_groups(free, weights)));
    else
        EXPECT_EQ(plan.cost(), one_key);
}

} // namespace

TEST_P(FragmentedPools, AnArenaCostsWhatTheBestChoiceOfTheFreePagesDoesAndNoOtherMemoryLess)
{
    const PoolOfGigabytes guard{pool_pages};
    const HeldPages held{GetParam(), 11};
    const std::vector<std::vector<std::string>> kinds = {
        {"--in-memory", "--iova-mode=pa"},
        {"--in-memory", "--iova-mode=va"},
        {"--legacy-mem", "--no-shconf", "-m", "280", "--huge-unlink", "--iova-mode=va"},
    };
    for (const auto& kind : kinds)
        in_child([&] {
            std::vector<std::string> arguments = kind;
            std::optional<HugetlbfsMount> mount;
            if (kind.front() == "--legacy-mem") {
                mount.emplace();
                arguments.push_back("--huge-dir=" + mount->path());
            }
            shuffled_free_pages(5);
            const SeenMemory plain = plain_mapping(size);
            shuffled_free_pages(6);
            const std::uint64_t best = cost_of_window(WindowOptions{}.limits);
            const std::uint64_t best_klm = cost_of_window(limits_with_klm());
            shuffled_free_pages(6);
            const Eal eal{arguments};
            const SeenMemory dpdk = memzone();
            for (const SeenMemory& other : {plain, dpdk}) {
                EXPECT_LE(best, other.cheapest(WindowOptions{}.limits).cost());
                EXPECT_LE(best_klm, other.cheapest(limits_with_klm()).cost());
            }
            if (mount) // the EAL has taken what an arena needs
                return;
            expect_best(WindowOptions{}.limits);
            expect_best(limits_with_klm());
        });
    EXPECT_EQ(read_pool(2_MiB).free, held.free_frames().size());
}

TEST_F(FragmentedPoolsBesideGigabytes, AnArenaOfSmallPagesIsStillTheBestAndOneOfLargePagesIsOneEntry)
{
    std::optional<PoolGuard> large;
    try {
        large.emplace(1_GiB, 2);
    } catch (const std::exception&) { // NOLINT(bugprone-empty-catch): said below
    }
    MRZ_REQUIRE(large.has_value(), "the kernel gives no two 1-GiB pages");
    const PoolGuard guard{2_MiB, pool_pages};
    const HeldPages held{20, 12};
    in_child([&] {
        const Eal eal{{"--in-memory", "--iova-mode=pa"}}; // which takes a page of 1 GiB for itself
        expect_best(WindowOptions{}.limits);
        expect_best(limits_with_klm());
        MRZ_REQUIRE(large->free() > 0, "the EAL has taken both 1-GiB pages");
        Arena arena = Arena::build("large", {.size = 1_GiB, .page_size = 1_GiB});
        EXPECT_EQ(arena.windows()[0].plan(WindowOptions{}.limits).mtt_entries(), 1U);
    });
}

INSTANTIATE_TEST_SUITE_P(Held, FragmentedPools, testing::Values(0u, 5u, 20u, 50u),
                         [](const auto& held) { return std::to_string(held.param) + "percent"; });
