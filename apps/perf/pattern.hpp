// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Bytes that tell where they belong.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace mrz::perf {

//! What fills memory: words that differ from place to place, and from one pattern to another.
class Pattern {
  public:
    //! Of the memory that operations of one end's stream bring, or find there before: by \p seed, \p server
    //! (whether the server's operations bring it) and \p stream.
    static Pattern brought(std::uint64_t seed, bool server, unsigned stream) noexcept;
    static Pattern before(std::uint64_t seed, bool server, unsigned stream) noexcept;

    //! Fills what begins at \p offset of the memory, a multiple of 8.
    void fill(std::span<std::byte> bytes, std::size_t offset) const noexcept;
    //! Throws Error (data, EBADMSG), naming the first wrong byte and \p where, unless fill() would change nothing.
    void check(std::span<const std::byte> bytes, std::size_t offset, std::string_view where) const;

  private:
    explicit Pattern(std::uint64_t key) noexcept : key_{key} {}
    [[nodiscard]] std::uint64_t word(std::size_t offset) const noexcept;

    std::uint64_t key_;
};

} // namespace mrz::perf
