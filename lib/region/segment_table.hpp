// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! What look-ups search. Private to this floor.
#pragma once

#include <mrzone/lookup.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace mrz {

//! Memory that others than a region's owner may take away.
struct Foreign {
    std::uint64_t start = 0;
    std::uint64_t end = 0;
    bool gone = false; //!< Some of it went.
};

//! A region that is to be found by search.
struct SearchedRegion {
    std::uint64_t start = 0; //!< Address.
    std::uint64_t end = 0;   //!< The address after the last byte. (The last byte of all is never found.)
    std::uint32_t key = 0;
    bool writable = false;
    std::uint64_t number = 0;         //!< Of its own.
    const Foreign* foreign = nullptr; //!< Null: its memory lasts.
};
//! The order that tables are made from: by start, then the longest first.
bool operator<(const SearchedRegion& a, const SearchedRegion& b) noexcept;

//! A table as look-ups search it, in one piece of memory.
class SegmentTable {
  public:
    //! Of \p sorted regions, those that grant local write or all. Null if there is none. Throws std::bad_alloc.
    static std::unique_ptr<SegmentTable> make(std::span<const SearchedRegion> sorted, bool writable_only);
    SegmentTable(const SegmentTable&) = delete;
    SegmentTable& operator=(const SegmentTable&) = delete;

    [[nodiscard]] const mrz_lookup_table_* get() const noexcept { return table_.get(); }
    [[nodiscard]] std::size_t segments() const noexcept { return segments_; }
    [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }

    //! \name Let regions be found no more, though readers have the table. Others that they hid are not found either.
    //! \{
    void forget(const SearchedRegion& region) noexcept;
    //! All those whose memory is gone.
    void forget_gone() noexcept;
    //! \}

    //! \name For whoever keeps it while readers may have it.
    //! \{
    std::unique_ptr<SegmentTable> next = nullptr;
    std::uint64_t token = 0;
    //! \}

  private:
    SegmentTable(std::size_t segments, std::size_t separators);
    void forget_segment(std::size_t number) noexcept;
    struct Free {
        void operator()(mrz_lookup_table_* table) const noexcept;
    };

    std::size_t segments_;
    std::size_t bytes_;
    std::unique_ptr<mrz_lookup_table_, Free> table_;
    mrz_lookup_segment_* first_ = nullptr; // of the segments
    std::vector<const Foreign*> foreign_;  // of each; null: none, or forgotten
};

} // namespace mrz
