// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! The guest's memory: files that its virtual machine shares, at addresses that come and go.
#pragma once

#include "dma/dma.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace mrz::dma {

//! Addresses of the guest.
struct Range {
    DmaAddress at;
    std::uint64_t bytes = 0;
    bool readable = true;
    bool writable = true;
};

//! What a Memory holds.
struct MemoryCounts {
    std::size_t ranges = 0;
    std::size_t without_memory = 0; //!< Those of them that no file is behind.
    std::uint64_t bytes = 0;        //!< Behind which there is one.
};

//! memory() and counts() may be called by several threads at once; all else only by the caller of exclusively(), and
//! while the engine pauses.
class Memory final : public Bus {
  public:
    static constexpr std::size_t most_ranges = 8192;
    static constexpr std::uint64_t page = 4096;

    Memory() = default;
    ~Memory() override;
    Memory(const Memory&) = delete;
    Memory& operator=(const Memory&) = delete;

    //! Lets the bytes of \p file from \p offset on answer at \p range. The file may be closed afterwards.
    //! Throws Error: EINVAL (no pages, past the end of addresses or of the file, no right at all; a file that may
    //! shrink, so that an access would end the process), EEXIST (a part of the range is there), ENOSPC (too many),
    //! or what mmap said.
    void map(const Range& range, int file, std::uint64_t offset);
    //! Keeps the range from being mapped again; no memory answers there. As map() otherwise.
    void map_nothing(const Range& range);
    //! Ends all that lies in the range. Throws Error and ends nothing: EINVAL (a range would be cut), ENOENT (nothing
    //! is there).
    void unmap(DmaAddress at, std::uint64_t bytes);
    void unmap_all() noexcept;
    //! Whether it answers at all; what is mapped stays so. At first it does.
    void let_answer(bool answers) noexcept { answers_ = answers; }

    [[nodiscard]] MemoryCounts counts() const noexcept;
    std::span<std::byte> memory(DmaAddress at, std::uint64_t length, hca::Direction direction) noexcept override;

  private:
    //! Where a file is mapped in this process.
    class Mapping {
      public:
        Mapping() = default;
        Mapping(int file, std::uint64_t offset, std::uint64_t bytes, bool writable);
        Mapping(Mapping&& other) noexcept;
        Mapping& operator=(Mapping&& other) noexcept;
        ~Mapping();

        [[nodiscard]] std::byte* bytes() const noexcept { return bytes_; }

      private:
        void* start_ = nullptr;
        std::size_t length_ = 0;
        std::byte* bytes_ = nullptr; //!< The byte at the offset: a mapping may have to begin before it.
    };
    struct Placed {
        std::uint64_t first = 0;
        std::uint64_t last = 0;
        bool readable = false;
        bool writable = false;
        Mapping mapping;
    };

    void check(const Range& range) const;
    void place(const Range& range, Mapping mapping);
    //! The first whose last address is not before \p at.
    [[nodiscard]] std::size_t first_not_before(std::uint64_t at) const noexcept;

    std::vector<Placed> placed_; //!< In order of addresses; none overlap.
    bool answers_ = true;
};

} // namespace mrz::dma
