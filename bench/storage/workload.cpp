// SPDX-License-Identifier: BSD-3-Clause
#include "workload.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string>

namespace bench::storage {

namespace {

enum class Side : std::uint64_t { memory, store };

//! What fill() puts there. A bijection of place and side, so no two words are the same (the finisher of splitmix64).
std::uint64_t word(Side side, std::uint64_t place)
{
    std::uint64_t mixed = (place << 1 | static_cast<std::uint64_t>(side)) + 0x9e3779b97f4a7c15;
    mixed = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9;
    mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111eb;
    return mixed ^ mixed >> 31;
}

void fill_side(std::span<std::byte> bytes, Side side)
{
    for (std::size_t at = 0; at < bytes.size(); at += sizeof(std::uint64_t)) {
        const std::uint64_t value = word(side, at / sizeof value);
        std::memcpy(bytes.data() + at, &value, sizeof value);
    }
}

void check_block(std::span<const std::byte> bytes, std::size_t begin, std::size_t length, Side from,
                 const char* where)
{
    for (std::size_t at = begin; at < begin + length; at += sizeof(std::uint64_t)) {
        std::uint64_t value = 0;
        std::memcpy(&value, bytes.data() + at, sizeof value);
        if (value != word(from, at / sizeof value))
            throw std::runtime_error{"wrong bytes in the " + std::string{where} + " at " + std::to_string(at) +
                                     ": they should be what the " + (from == Side::memory ? "memory" : "store") +
                                     " held"};
    }
}

} // namespace

Workload::Workload(const WorkloadOptions& options) : timed_{options.timed}
{
    const std::size_t runs = options.blocks / options.run; // what is left over is not used
    const std::size_t hot_runs = std::max<std::size_t>(1, runs * hot_memory / 100);
    std::vector<std::uint32_t> order(runs);
    std::iota(order.begin(), order.end(), std::uint32_t{0});
    std::ranges::shuffle(order, std::mt19937_64{1});
    std::vector<std::uint32_t> blocks; // hot ones first
    blocks.reserve(runs * options.run);
    for (const std::uint32_t run : order)
        for (std::size_t i = 0; i < options.run; ++i)
            blocks.push_back(static_cast<std::uint32_t>(run * options.run + i));
    const std::size_t hot = hot_runs * options.run;

    std::vector<std::size_t> last_read(blocks.size(), 0); // the operation after it, counted from one; 0: none
    const auto add = [&](std::uint32_t block, std::mt19937_64& random) {
        Operation one{.block = block, .write = random() % 100 >= options.read_percent};
        if (one.write)
            one.fence = last_read[block] != 0 && operations_.size() - last_read[block] + 1 < options.depth;
        else
            last_read[block] = operations_.size() + 1;
        operations_.push_back(one);
    };
    const auto add_random = [&](std::mt19937_64& random) {
        const bool is_hot = random() % 100 < hot_operations;
        add(is_hot ? blocks[random() % hot] : blocks[hot + random() % (blocks.size() - hot)], random);
    };
    const std::size_t once = std::min(options.warm_up, blocks.size());
    const std::size_t least = once + std::max(timed_ / 2, 3 * once);
    operations_.reserve(least + options.depth + timed_);
    std::mt19937_64 random{2};
    std::vector<std::uint32_t> first{blocks.begin(), blocks.begin() + static_cast<std::ptrdiff_t>(once)};
    std::ranges::shuffle(first, random);
    for (const std::uint32_t block : first)
        add(block, random);
    while (operations_.size() < least || operations_.size() % options.depth != 0)
        add_random(random);
    random.seed(3); // the same for all that are compared, however they warm up
    for (std::size_t i = 0; i < timed_; ++i)
        add_random(random);
}

void fill(std::span<std::byte> memory, std::span<std::byte> store)
{
    fill_side(memory, Side::memory);
    fill_side(store, Side::store);
}

void check(std::span<const std::byte> memory, std::span<const std::byte> store, std::span<const Operation> operations,
           std::size_t block_size)
{
    // From its first operation on a block is the same on both sides, so that decides what it holds.
    std::vector<Side> in_memory(memory.size() / block_size, Side::memory);
    std::vector<Side> in_store(in_memory.size(), Side::store);
    for (const Operation& one : operations) {
        if (one.write)
            in_store[one.block] = in_memory[one.block];
        else
            in_memory[one.block] = in_store[one.block];
    }
    for (std::size_t block = 0; block < in_memory.size(); ++block) {
        check_block(memory, block * block_size, block_size, in_memory[block], "memory");
        check_block(store, block * block_size, block_size, in_store[block], "store");
    }
}

} // namespace bench::storage
