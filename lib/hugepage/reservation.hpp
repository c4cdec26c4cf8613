// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! The one address range that this process keeps for windows, and pieces of it.
#pragma once

#include <mrzone/base.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>

namespace mrz::hugepage {

//! The free parts of an address space: arithmetic only.
class FreeRanges {
  public:
    //! Adds a range that is not among them, merged with its neighbours.
    void put(std::uintptr_t begin, std::size_t length);
    //! Takes the lowest `before + length` bytes for which `begin + before` is \p residue modulo 2^modulus.
    std::optional<std::uintptr_t> take(std::size_t before, std::size_t length, PageShift modulus,
                                       std::uint64_t residue);
    //! Takes exactly this range if all of it is free.
    bool take_at(std::uintptr_t begin, std::size_t length);
    //! Bytes of the longest range.
    [[nodiscard]] std::size_t largest() const;

  private:
    using Ranges = std::map<std::uintptr_t, std::size_t>; // begin -> length
    void cut(Ranges::iterator range, std::uintptr_t begin, std::size_t length);
    Ranges ranges_;
};

//! Owns virtual addresses to map a window at. They hold nothing (PROT_NONE) until something is mapped over them, and
//! whatever is mapped there is unmapped with the range.
class AddressRange {
  public:
    AddressRange() = default;
    AddressRange(AddressRange&& other) noexcept
        : begin_{std::exchange(other.begin_, 0)}, length_{std::exchange(other.length_, 0)}, reserved_{other.reserved_}
    {
    }
    AddressRange& operator=(AddressRange&& other) noexcept;
    ~AddressRange() { release(); }

    //! From the process's reservation: `before + length` bytes whose byte `before` lies at \p residue modulo
    //! 2^modulus. Throws Error: invalid (ENOMEM) if there is no room.
    static AddressRange congruent(std::size_t before, std::size_t length, PageShift modulus, std::uint64_t residue);
    //! Exactly there, in or outside the reservation. Throws Error: busy (EEXIST) if any of it is taken.
    static AddressRange at(std::uintptr_t begin, std::size_t length);

    [[nodiscard]] std::uintptr_t begin() const noexcept { return begin_; }
    [[nodiscard]] std::size_t length() const noexcept { return length_; }

  private:
    AddressRange(std::uintptr_t begin, std::size_t length, bool reserved) noexcept
        : begin_{begin}, length_{length}, reserved_{reserved}
    {
    }
    void release() noexcept;

    std::uintptr_t begin_ = 0;
    std::size_t length_ = 0;
    bool reserved_ = false; // Goes back to the reservation.
};

} // namespace mrz::hugepage
