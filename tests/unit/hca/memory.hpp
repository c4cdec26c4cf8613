// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! A made-up physical memory, and keys over it.
#pragma once

#include <hca/bus.hpp>
#include <hca/mkey.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <span>
#include <vector>

namespace mrz::hca {

//! Ranges of DMA addresses with memory behind them, and nothing between them.
class MadeUpMemory : public Bus {
  public:
    void add(std::uint64_t at, std::uint64_t length)
    {
        // In words, so that it is aligned as real memory is.
        ranges_[at] = {std::make_unique<std::uint64_t[]>((length + 7) / 8), length};
    }
    std::span<std::byte> memory(DmaAddress at, std::uint64_t length, Direction direction) noexcept override
    {
        auto range = ranges_.upper_bound(at.value());
        if (range == ranges_.begin())
            return {};
        --range;
        const std::uint64_t offset = at.value() - range->first;
        if (offset >= range->second.length || (direction == Direction::write && range->first == read_only_))
            return {};
        return {reinterpret_cast<std::byte*>(range->second.words.get()) + offset,
                std::min({length, range->second.length - offset, longest_})};
    }
    std::byte& at(DmaAddress address) { return memory(address, 1, Direction::read).front(); }
    //! The range that begins here answers reads only.
    void make_read_only(std::uint64_t at) { read_only_ = at; }
    //! Answers with at most so many bytes at once.
    void answer_at_most(std::uint64_t bytes) { longest_ = bytes; }

  private:
    struct Range {
        std::unique_ptr<std::uint64_t[]> words;
        std::uint64_t length;
    };
    std::map<std::uint64_t, Range> ranges_;
    std::uint64_t read_only_ = ~std::uint64_t{0};
    std::uint64_t longest_ = ~std::uint64_t{0};
};

//! Pages of one size, scattered over physical memory with holes between them, that a key shows one after the other.
struct Pages {
    unsigned shift = 12;
    std::uint64_t start = 0; //!< The first byte of the key.
    std::uint64_t length = 0;
    std::vector<DmaAddress> frames;

    //! \p seed decides the frames' order; ranges made with different \p where do not overlap.
    static Pages make(MadeUpMemory& memory, std::uint64_t where, unsigned shift, std::uint64_t start,
                      std::uint64_t length, unsigned seed)
    {
        Pages pages{shift, start, length, {}};
        const std::uint64_t count = ((start + length - 1) >> shift) - (start >> shift) + 1;
        std::vector<std::uint64_t> order(count);
        for (std::uint64_t i = 0; i < count; ++i)
            order[i] = i;
        std::shuffle(order.begin(), order.end(), std::mt19937{seed});
        for (const std::uint64_t place : order) {
            // Twice the size apart: a byte beyond a page is nowhere.
            const std::uint64_t frame = where + (place << (shift + 1));
            memory.add(frame, std::uint64_t{1} << shift);
            pages.frames.emplace_back(frame);
        }
        return pages;
    }

    [[nodiscard]] DmaAddress dma(std::uint64_t iova) const
    {
        return frames[(iova >> shift) - (start >> shift)] + (iova & ((std::uint64_t{1} << shift) - 1));
    }
    [[nodiscard]] MkeySpec spec(Pd pd, KeyRights rights) const
    {
        MkeySpec key;
        key.mode = KeyMode::mtt;
        key.pd = pd;
        key.rights = rights;
        key.start = Iova{start};
        key.length = length;
        key.page_shift = shift;
        key.pages = frames;
        return key;
    }
    void fill(MadeUpMemory& memory, std::uint8_t first) const
    {
        for (std::uint64_t i = 0; i < length;) {
            const std::uint64_t page_end = (((start + i) >> shift) + 1) << shift;
            for (std::byte& byte :
                 memory.memory(dma(start + i), std::min(page_end - start - i, length - i), Direction::write)) {
                byte = static_cast<std::byte>(first + i * 7 + i / 256);
                ++i;
            }
        }
    }
    [[nodiscard]] std::vector<std::byte> bytes(MadeUpMemory& memory) const
    {
        std::vector<std::byte> result;
        result.reserve(length);
        while (result.size() < length) {
            const std::uint64_t at = start + result.size();
            const std::uint64_t page_end = ((at >> shift) + 1) << shift;
            const std::span<const std::byte> part =
                memory.memory(dma(at), std::min(page_end - at, length - result.size()), Direction::read);
            result.insert(result.end(), part.begin(), part.end());
        }
        return result;
    }
};

constexpr KeyRights all_rights = KeyRights::local_read | KeyRights::local_write | KeyRights::remote_read |
                                 KeyRights::remote_write | KeyRights::remote_atomic;

} // namespace mrz::hca
