// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Hugepages as a picture shows them: ranges, runs and rows. No I/O.
#pragma once

#include "frames_note.hpp"
#include "output.hpp"

#include <mrzone/base.hpp>
#include <mrzone/plan.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace mrz::app {

//! Virtual addresses without a hole, in hugepages of one size.
struct PageRange {
    std::string name; //!< The file, or what else it is; empty for anonymous memory.
    std::uint64_t address = 0;
    std::size_t page_size = 0;
    std::size_t pages = 0;
    std::size_t mappings = 1;            //!< The kernel's, which lie side by side.
    std::vector<DmaAddress> frames = {}; //!< One a page, Frames::absent where there is none yet; empty if hidden.

    [[nodiscard]] std::size_t length() const noexcept { return pages * page_size; }
    //! "8 MiB in 4 pages of 2 MiB, /a/file (2 mappings)".
    [[nodiscard]] std::string description() const;
};

//! Consecutive pages of a range that are all hidden, all absent, or one extent.
struct PageRun {
    enum class Kind { extent, absent, hidden };
    Kind kind = Kind::extent;
    std::size_t first = 0; //!< Page.
    std::size_t pages = 0;
    DmaAddress dma = {};
    bool after_break = false; //!< The page before it is present, and elsewhere.
};

//! A range, and what registering it costs.
struct RangeView {
    PageRange range;
    std::vector<PageRun> runs;
    bool hidden = false;
    std::size_t absent_pages = 0;
    std::size_t extents = 0; //!< 0 if hidden.
    std::size_t breaks = 0;
    std::optional<Plan> plan = {}; //!< One key over it where it lies; none unless every page's frame is known.
    Plan guaranteed = {};          //!< The same whatever the frames are.
    //! Entries of a key for each extent instead, all together; 0 without a plan.
    std::uint64_t entries_apart = 0;

    //! The page whose address limits the plan, if it could be better and the way memory lies is why.
    [[nodiscard]] std::optional<std::size_t> limiting_page() const;
};
//! Throws Error as make_plan().
RangeView view_range(PageRange range, const Limits& limits);

//! Everything that one picture shows.
struct MapView {
    std::string title; //!< "process 17 (name)", "an arena of 1 GiB".
    std::vector<RangeView> ranges;
    std::optional<FramesNote> note; //!< What cannot be known.

    [[nodiscard]] std::string headline() const;
};

//! Part of a row: pages of one run.
struct RowPiece {
    std::size_t run = 0;   //!< Index.
    std::size_t first = 0; //!< Page.
    std::size_t pages = 0;
    bool after_break = false;
};
//! Pages between two multiples of a row's length.
struct Row {
    std::uint64_t address = 0; //!< That multiple; the range may begin later.
    std::size_t lead = 0;      //!< Pages before the range begins.
    std::vector<RowPiece> pieces;
    std::size_t stands_for = 1; //!< Rows, itself included, that are whole and of the same run.

    [[nodiscard]] std::size_t breaks() const noexcept;
};
constexpr std::size_t pages_a_row = 64;
std::vector<Row> rows_of(const RangeView& view);

//! How good an extent is, 0 to 3, by its length: below 8 MiB, 64 MiB, 1 GiB, and beyond.
unsigned extent_class(std::size_t length);

//! "1 page", "2 pages".
std::string counted(std::uint64_t count, std::string_view one, std::string_view many);

Json to_json(const MapView& view);

} // namespace mrz::app
