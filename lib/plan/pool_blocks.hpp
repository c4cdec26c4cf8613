// SPDX-License-Identifier: BSD-3-Clause
// The frames to choose from, seen as parts of aligned blocks of any size. Numbers here count pages, not bytes: page
// number n begins at DMA address n * page size, and block b of m pages holds the pages b * m to b * m + m - 1.
#pragma once

#include <mrzone/plan.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace mrz {

//! Pages whose numbers follow one another.
struct PageRun {
    std::uint64_t first = 0;
    std::uint64_t count = 0;

    [[nodiscard]] std::uint64_t end() const noexcept { return first + count; }
};

//! What a pool has to offer at one block size. "Incomplete" is a block of which pages are missing.
struct BlockSurvey {
    std::uint64_t whole = 0;          //!< Complete blocks.
    std::uint64_t longest_head = 0;   //!< Pages from the start of an incomplete block on, at most.
    std::uint64_t longest_tail = 0;   //!< Pages up to the end of an incomplete block, at most.
    std::uint64_t longest_inside = 0; //!< Pages anywhere in an incomplete block, at most.
};

//! Frames in ascending order, as maximal runs.
class PoolBlocks {
  public:
    //! Throws Error (EINVAL) if a frame is not page aligned or is there twice.
    PoolBlocks(std::span<const DmaAddress> frames, PageShift page);

    //! Ascending.
    [[nodiscard]] std::span<const PageRun> runs() const noexcept { return runs_; }
    [[nodiscard]] BlockSurvey survey(std::uint64_t block) const;

    //! `wanted` of the complete blocks of `block` pages, ascending: those first that belong to no larger complete
    //! block of up to `largest` pages, and the lowest of these.
    [[nodiscard]] std::vector<PageRun> whole_blocks(std::uint64_t block, std::uint64_t largest,
                                                    std::uint64_t wanted) const;
    //! The shortest run of at least `least` pages in an incomplete block that begins, ends, or lies anywhere in it;
    //! of equals the lowest.
    [[nodiscard]] std::optional<PageRun> head(std::uint64_t block, std::uint64_t least) const;
    [[nodiscard]] std::optional<PageRun> tail(std::uint64_t block, std::uint64_t least) const;
    [[nodiscard]] std::optional<PageRun> inside(std::uint64_t block, std::uint64_t least) const;

    //! Where, in ascending order, the page is. It must be there.
    [[nodiscard]] std::size_t position(std::uint64_t page_number) const;
    [[nodiscard]] std::size_t pages() const noexcept { return sorted_.size(); }
    [[nodiscard]] std::uint64_t page_number(std::size_t position) const { return sorted_[position].page_number; }
    //! The index among the frames given of the one at a position.
    [[nodiscard]] std::size_t index(std::size_t position) const { return sorted_[position].index; }

  private:
    struct Numbered {
        std::uint64_t page_number;
        std::size_t index;
    };
    std::vector<Numbered> sorted_;
    std::vector<PageRun> runs_;
    std::vector<std::size_t> run_positions_; // of each run's first page
};

} // namespace mrz
