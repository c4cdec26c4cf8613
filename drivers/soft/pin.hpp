// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Keeping memory where it is.
#pragma once

#include "pin_ring.hpp"

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <sys/types.h>

namespace mrz::soft {

class Pinner;

//! Memory that is pinned for as long as this lives, in the process that pinned it. Uses its pinner, which lives
//! longer.
class Pin {
  public:
    Pin() = default;
    Pin(Pin&& other) noexcept;
    Pin& operator=(Pin&& other) noexcept;
    ~Pin();

    //! In whole pages.
    [[nodiscard]] std::size_t bytes() const noexcept { return pages_.size(); }

  private:
    friend class Pinner;
    Pin(Pinner& pinner, std::span<std::byte> pages) noexcept : pinner_{&pinner}, pages_{pages} {}

    struct Piece {
        PinRing* ring;
        unsigned place;
    };
    Pinner* pinner_ = nullptr;
    std::span<std::byte> pages_;
    std::vector<Piece> pieces_;
    bool locked_ = false;
};

//! Thread-safe.
class Pinner {
  public:
    //! Finds out how this process may pin. Throws Error where something else than permission stands in the way.
    Pinner();
    ~Pinner();
    Pinner(const Pinner&) = delete;
    Pinner& operator=(const Pinner&) = delete;

    //! False: memory is only locked, by mlock2. It stays in memory, but the kernel may move it to other frames.
    [[nodiscard]] bool holds_frames() const noexcept { return refused_ == 0; }
    //! The errno that io_uring was refused with; 0 if it was not.
    [[nodiscard]] int refused() const noexcept { return refused_; }

    //! Pins the pages that \p memory, which is not empty, touches. Throws Error with the cause, and then nothing
    //! stays pinned.
    Pin pin(std::span<std::byte> memory) { return std::move(pin_all({&memory, 1}).front()); }
    //! The same for each of several, in their order, or for none.
    std::vector<Pin> pin_all(std::span<const std::span<std::byte>> memories);

  private:
    friend class Pin;
    void pin_pieces(std::span<Pin> pins);
    void lock(Pin& pin);
    PinRing& ring_with_room();
    void release(Pin& pin) noexcept;
    void unlock(std::span<std::byte> pages) noexcept;

    int refused_ = 0;
    pid_t process_;
    std::mutex mutex_;
    std::list<std::unique_ptr<PinRing>> rings_; // small tables first
    std::size_t places_ = 0;                    // in all of them
    // mlock does not count, so we do. Both counts, since where one lock ends the next may begin: their difference
    // would not tell that from an address where neither does.
    struct LockEdge {
        std::uint64_t begins = 0;
        std::uint64_t ends = 0;
    };
    std::map<std::uintptr_t, LockEdge> lock_edges_;
};

} // namespace mrz::soft
