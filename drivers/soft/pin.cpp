// SPDX-License-Identifier: BSD-3-Clause
#include "pin.hpp"

#include "pin_failure.hpp"

#include <mrzone/base.hpp>

#include <algorithm>
#include <cerrno>
#include <utility>

#include <sys/mman.h>
#include <unistd.h>

namespace mrz::soft {
namespace {

std::span<std::byte> whole_pages(std::span<std::byte> memory)
{
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    const std::size_t before = reinterpret_cast<std::uintptr_t>(memory.data()) % page;
    return {memory.data() - before, (before + memory.size() + page - 1) / page * page};
}

// For each hugepage that is pinned the kernel looks through the whole table of its ring, vacant places too
// (io_uring/rsrc.c, headpage_already_acct): 512 hugepages in a table of 16,384 take 16 ms, so tables begin small.
constexpr unsigned first_places = 256;

// Not permitted (seccomp, kernel.io_uring_disabled), or a kernel before 5.19, without sparse tables of buffers.
bool means_not_here(int error)
{
    return error == EPERM || error == EACCES || error == ENOSYS || error == EINVAL;
}

} // namespace

// ---- Pin ----------------------------------------------------------------------------------------------------------

Pin::Pin(Pin&& other) noexcept
    : pinner_{std::exchange(other.pinner_, nullptr)}, pages_{std::exchange(other.pages_, {})},
      pieces_{std::move(other.pieces_)}, locked_{std::exchange(other.locked_, false)}
{
}

Pin& Pin::operator=(Pin&& other) noexcept
{
    std::swap(pinner_, other.pinner_);
    std::swap(pages_, other.pages_);
    std::swap(pieces_, other.pieces_);
    std::swap(locked_, other.locked_);
    return *this;
}

Pin::~Pin()
{
    if (pinner_ != nullptr)
        pinner_->release(*this);
}

// ---- Pinner -------------------------------------------------------------------------------------------------------

Pinner::Pinner() : process_{::getpid()}
{
    int error = 0;
    if (auto ring = PinRing::make(error, first_places)) {
        places_ = first_places;
        rings_.push_back(std::move(ring));
        return;
    }
    if (!means_not_here(error))
        throw ring_failure(error, "opening the software adapter");
    refused_ = error;
}

Pinner::~Pinner() = default;

std::vector<Pin> Pinner::pin_all(std::span<const std::span<std::byte>> memories)
{
    std::vector<Pin> pins;
    pins.reserve(memories.size());
    for (const auto& memory : memories)
        pins.push_back(Pin{*this, whole_pages(memory)});
    if (holds_frames())
        pin_pieces(pins);
    else
        for (Pin& pin : pins)
            lock(pin);
    return pins;
}

void Pinner::pin_pieces(std::span<Pin> pins)
{
    std::vector<std::span<std::byte>> pieces;
    std::vector<Pin*> owners;
    for (Pin& pin : pins) {
        pin.pieces_.reserve((pin.pages_.size() + PinRing::longest_buffer - 1) / PinRing::longest_buffer);
        for (std::span<std::byte> rest = pin.pages_; !rest.empty();) {
            pieces.push_back(rest.first(std::min(rest.size(), PinRing::longest_buffer)));
            owners.push_back(&pin);
            rest = rest.subspan(pieces.back().size());
        }
    }
    const std::scoped_lock guard{mutex_};
    // A destructor that runs for a failure below takes the lock itself, so what was pinned is released here.
    try {
        for (std::size_t done = 0; done < pieces.size();) {
            PinRing& ring = ring_with_room();
            const std::size_t count = std::min(pieces.size() - done, ring.room());
            int error = 0;
            for (const unsigned place : ring.pin(std::span{pieces}.subspan(done, count), error))
                owners[done++]->pieces_.push_back({&ring, place});
            if (error != 0)
                throw pin_failure(error, owners[done]->pages_);
        }
    } catch (...) {
        for (Pin& pin : pins) {
            for (const Pin::Piece& piece : pin.pieces_)
                piece.ring->unpin(piece.place);
            pin.pieces_.clear();
        }
        throw;
    }
}

PinRing& Pinner::ring_with_room()
{
    const auto ring = std::ranges::find_if(rings_, [](const auto& candidate) { return candidate->room() > 0; });
    if (ring != rings_.end())
        return **ring;
    int error = 0;
    const unsigned places = static_cast<unsigned>(std::min<std::size_t>(16 * places_, PinRing::buffers));
    auto made = PinRing::make(error, places);
    if (!made)
        throw ring_failure(error, "pinning more than " + std::to_string(places_) + " pieces");
    rings_.push_back(std::move(made));
    places_ += places;
    return *rings_.back();
}

void Pinner::lock(Pin& pin)
{
    const std::scoped_lock guard{mutex_};
    const auto begin = reinterpret_cast<std::uintptr_t>(pin.pages_.data());
    // Both edges exist before anything is locked: what follows then cannot fail half-way.
    LockEdge& first = lock_edges_[begin];
    LockEdge& last = lock_edges_[begin + pin.pages_.size()];
    ++first.begins;
    ++last.ends;
    pin.locked_ = true;
    if (::mlock2(pin.pages_.data(), pin.pages_.size(), 0) == 0)
        return;
    const int error = errno;
    unlock(pin.pages_);
    pin.locked_ = false;
    throw pin_failure(error, pin.pages_);
}

void Pinner::unlock(std::span<std::byte> pages) noexcept
{
    const auto begin = reinterpret_cast<std::uintptr_t>(pages.data());
    const std::uintptr_t end = begin + pages.size();
    --lock_edges_.find(begin)->second.begins;
    --lock_edges_.find(end)->second.ends;
    std::uint64_t locks = 0;
    std::uintptr_t from = begin;
    for (const auto& [at, edge] : lock_edges_) {
        if (at > begin) {
            if (locks == 0)
                ::munlock(reinterpret_cast<void*>(from), std::min(at, end) - from);
            from = at;
        }
        if (at >= end)
            break;
        locks += edge.begins; // never below zero: what ends at an address began before it
        locks -= edge.ends;
    }
    std::erase_if(lock_edges_, [](const auto& edge) { return edge.second.begins == 0 && edge.second.ends == 0; });
}

void Pinner::release(Pin& pin) noexcept
{
    if (::getpid() != process_) // a child of fork(): the pins are its parent's
        return;
    const std::scoped_lock guard{mutex_};
    for (const Pin::Piece& piece : pin.pieces_)
        piece.ring->unpin(piece.place);
    if (pin.locked_)
        unlock(pin.pages_);
}

} // namespace mrz::soft
