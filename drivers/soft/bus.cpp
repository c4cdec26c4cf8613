// SPDX-License-Identifier: BSD-3-Clause
#include "bus.hpp"

#include <algorithm>
#include <cerrno>

namespace mrz::soft {
namespace {

constexpr unsigned bits_a_level = 9;
constexpr std::size_t slots = std::size_t{1} << bits_a_level;
constexpr unsigned top_shift = 48;
constexpr std::array<unsigned, 3> leaf_shifts = {30, 21, 12};
static_assert(top_shift + bits_a_level == ProcessBus::address_bits);

constexpr std::size_t index(std::uint64_t at, unsigned shift) noexcept
{
    return (at >> shift) % slots;
}

} // namespace

struct ProcessBus::Node {
    std::array<Slot, slots> at;
    std::size_t used = 0; // slots that are not empty
};

ProcessBus::ProcessBus() : top_{std::make_unique<Node>()} {}
ProcessBus::~ProcessBus() = default;

std::span<std::byte> ProcessBus::memory(DmaAddress at, std::uint64_t length, hca::Direction) noexcept
{
    // Every direction: memory that may not be written is not registered.
    const std::uint64_t address = at.value();
    if (address >> address_bits != 0)
        return {};
    const Node* node = top_.get();
    for (unsigned shift = top_shift; node != nullptr; shift -= bits_a_level) {
        const Slot& slot = node->at[index(address, shift)];
        if (slot.bytes != nullptr) {
            const std::uint64_t block = std::uint64_t{1} << shift;
            const std::uint64_t offset = address % block;
            return {slot.bytes + offset, std::min(length, block - offset)};
        }
        node = slot.child.get();
    }
    return {};
}

void ProcessBus::add(DmaAddress at, std::byte* bytes, std::uint64_t length)
{
    constexpr std::uint64_t end = std::uint64_t{1} << address_bits;
    if (at.value() > end || length > end - at.value())
        throw Error{EINVAL,
                    {.trouble = Trouble::invalid,
                     .what = "mapping " + format_size(length) + " at DMA address " + format_hex(at.value()),
                     .limit = "the bits of an address of the software adapter",
                     .present = address_bits,
                     .remedy = "use memory below that"}};
    std::uint64_t done = 0;
    try {
        while (done < length) {
            const unsigned shift = leaf_shift(at.value() + done, length - done);
            add_block(at.value() + done, shift, bytes + done);
            done += std::uint64_t{1} << shift;
        }
    } catch (...) {
        // As many blocks as were added, cut as they were cut then.
        for (std::uint64_t undone = 0; undone < done;) {
            const unsigned shift = leaf_shift(at.value() + undone, length - undone);
            remove_block(*top_, top_shift, at.value() + undone, shift, bytes + undone);
            undone += std::uint64_t{1} << shift;
        }
        throw;
    }
}

void ProcessBus::remove(DmaAddress at, std::byte* bytes, std::uint64_t length) noexcept
{
    for (std::uint64_t done = 0; done < length;) {
        const unsigned shift = leaf_shift(at.value() + done, length - done);
        remove_block(*top_, top_shift, at.value() + done, shift, bytes + done);
        done += std::uint64_t{1} << shift;
    }
}

bool ProcessBus::agrees(DmaAddress at, const std::byte* bytes, std::uint64_t length) const noexcept
{
    return agrees(*top_, top_shift, 0, at.value(), at.value() + length,
                  reinterpret_cast<std::uintptr_t>(bytes) - at.value());
}

// \p offset: from a DMA address to the virtual one that is to answer there.
bool ProcessBus::agrees(const Node& node, unsigned shift, std::uint64_t node_begin, std::uint64_t begin,
                        std::uint64_t end, std::uintptr_t offset) noexcept
{
    const std::uint64_t block = std::uint64_t{1} << shift;
    const std::size_t first = begin > node_begin ? (begin - node_begin) >> shift : 0;
    for (std::size_t i = first; i < slots && node_begin + i * block < end; ++i) {
        const Slot& slot = node.at[i];
        const std::uint64_t block_begin = node_begin + i * block;
        if (slot.bytes != nullptr &&
            (slot.others || reinterpret_cast<std::uintptr_t>(slot.bytes) != block_begin + offset))
            return false;
        if (slot.child && !agrees(*slot.child, shift - bits_a_level, block_begin, begin, end, offset))
            return false;
    }
    return true;
}

bool ProcessBus::empty() const noexcept
{
    return top_->used == 0;
}

unsigned ProcessBus::leaf_shift(std::uint64_t at, std::uint64_t length) noexcept
{
    for (const unsigned shift : leaf_shifts)
        if (at % (std::uint64_t{1} << shift) == 0 && length >= std::uint64_t{1} << shift)
            return shift;
    return leaf_shifts.back();
}

void ProcessBus::hold(Slot& slot, std::byte* bytes)
{
    if (slot.bytes == nullptr || slot.bytes == bytes) {
        slot.bytes = bytes;
        ++slot.count;
        return;
    }
    if (!slot.others)
        slot.others = std::make_unique<std::vector<Holder>>();
    const auto other = std::ranges::find(*slot.others, bytes, &Holder::bytes);
    if (other != slot.others->end())
        ++other->count;
    else
        slot.others->push_back({bytes, 1});
}

void ProcessBus::let_go(Slot& slot, const std::byte* bytes) noexcept
{
    if (slot.bytes == bytes) {
        if (--slot.count != 0)
            return;
        slot.bytes = nullptr;
        if (slot.others) { // another virtual address of the same memory answers from now on
            slot.bytes = slot.others->back().bytes;
            slot.count = slot.others->back().count;
            slot.others->pop_back();
        }
    } else if (slot.others) {
        const auto other = std::ranges::find(*slot.others, bytes, &Holder::bytes);
        if (other != slot.others->end() && --other->count == 0)
            slot.others->erase(other);
    }
    if (slot.others && slot.others->empty())
        slot.others.reset();
}

void ProcessBus::add_block(std::uint64_t at, unsigned shift, std::byte* bytes)
{
    Node* node = top_.get();
    unsigned node_shift = top_shift;
    try {
        for (; node_shift != shift; node_shift -= bits_a_level) {
            Slot& slot = node->at[index(at, node_shift)];
            if (!slot.child) {
                auto child = std::make_unique<Node>();
                node->used += slot.empty() ? 1 : 0;
                slot.child = std::move(child);
            }
            node = slot.child.get();
        }
        Slot& slot = node->at[index(at, shift)];
        const bool was_empty = slot.empty();
        hold(slot, bytes);
        node->used += was_empty ? 1 : 0;
    } catch (...) {
        remove_block(*top_, top_shift, at, shift, nullptr); // holds nothing, but takes empty tables away
        throw;
    }
}

void ProcessBus::remove_block(Node& node, unsigned node_shift, std::uint64_t at, unsigned shift,
                              const std::byte* bytes) noexcept
{
    Slot& slot = node.at[index(at, node_shift)];
    if (slot.empty())
        return;
    if (node_shift == shift) {
        if (bytes != nullptr)
            let_go(slot, bytes);
    } else if (slot.child) {
        remove_block(*slot.child, node_shift - bits_a_level, at, shift, bytes);
        if (slot.child->used == 0)
            slot.child.reset();
    }
    node.used -= slot.empty() ? 1 : 0;
}

} // namespace mrz::soft
