// SPDX-License-Identifier: BSD-3-Clause
#include "dma/dma.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>

namespace mrz::dma {
namespace {

using hca::Direction;

//! Calls \p copy(memory, done) for each piece in which the range lies. \return whether all of it answered.
template <class Copy>
bool for_pieces(Bus& bus, DmaAddress at, std::size_t length, Direction direction, Copy copy) noexcept
{
    const auto held = bus.hold();
    for (std::size_t done = 0; done < length;) {
        const std::span<std::byte> piece = bus.memory(at + done, length - done, direction);
        if (piece.empty())
            return false;
        const std::size_t bytes = std::min(piece.size(), length - done);
        copy(piece.data(), done, bytes);
        done += bytes;
    }
    return true;
}

//! The word itself: empty if it is not aligned, or not in one piece.
template <class Word>
Word* word_at(Bus& bus, DmaAddress at, Direction direction) noexcept
{
    if (at.value() % sizeof(Word) != 0)
        return nullptr;
    const std::span<std::byte> piece = bus.memory(at, sizeof(Word), direction);
    // Memory may be placed on the bus unaligned, in tests at least.
    if (piece.size() < sizeof(Word) || reinterpret_cast<std::uintptr_t>(piece.data()) % sizeof(Word) != 0)
        return nullptr;
    return reinterpret_cast<Word*>(piece.data());
}

template <class Word>
std::optional<Word> load(Bus& bus, DmaAddress at) noexcept
{
    const auto held = bus.hold();
    Word* const word = word_at<Word>(bus, at, Direction::read);
    if (word == nullptr)
        return std::nullopt;
    return std::atomic_ref<Word>{*word}.load(std::memory_order_acquire);
}

template <class Word>
bool store(Bus& bus, DmaAddress at, Word value) noexcept
{
    const auto held = bus.hold();
    Word* const word = word_at<Word>(bus, at, Direction::write);
    if (word == nullptr)
        return false;
    std::atomic_ref<Word>{*word}.store(value, std::memory_order_release);
    return true;
}

} // namespace

void Bus::exclusively(const std::function<void()>& change)
{
    const std::lock_guard turn{turn_};
    changing_ = true;
    const std::unique_lock guard{lock_};
    changing_ = false; // who comes now waits for lock_ anyway
    change();
}

bool read(Bus& bus, DmaAddress at, std::span<std::byte> into) noexcept
{
    return for_pieces(bus, at, into.size(), Direction::read,
                      [&](const std::byte* memory, std::size_t done, std::size_t bytes) {
                          std::memcpy(into.data() + done, memory, bytes);
                      });
}

bool write(Bus& bus, DmaAddress at, std::span<const std::byte> from) noexcept
{
    return for_pieces(bus, at, from.size(), Direction::write,
                      [&](std::byte* memory, std::size_t done, std::size_t bytes) {
                          std::memcpy(memory, from.data() + done, bytes);
                      });
}

std::optional<std::uint32_t> load32(Bus& bus, DmaAddress at) noexcept
{
    return load<std::uint32_t>(bus, at);
}

std::optional<std::uint64_t> load64(Bus& bus, DmaAddress at) noexcept
{
    return load<std::uint64_t>(bus, at);
}

bool store8(Bus& bus, DmaAddress at, std::uint8_t value) noexcept
{
    return store<std::uint8_t>(bus, at, value);
}

bool store32(Bus& bus, DmaAddress at, std::uint32_t value) noexcept
{
    return store<std::uint32_t>(bus, at, value);
}

bool store64(Bus& bus, DmaAddress at, std::uint64_t value) noexcept
{
    return store<std::uint64_t>(bus, at, value);
}

} // namespace mrz::dma
