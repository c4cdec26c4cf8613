// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! How broken a pool's free memory is. No I/O.
#pragma once

#include "common/frames_note.hpp"

#include "common/output.hpp"

#include <mrzone/hugepage.hpp>
#include <mrzone/plan.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace mrz::app {

//! Naturally aligned blocks of one size that are all free.
struct Blocks {
    std::size_t size = 0; //!< Bytes.
    std::uint64_t count = 0;

    friend bool operator==(const Blocks&, const Blocks&) = default;
};
//! Blocks of twice the page size, four times, and so on to \p largest at least, and on while there are any. Each size
//! counts for itself: a block of 4 MiB is in one of 8 MiB, too. \p frames are ascending and different, each a
//! multiple of \p page_size.
std::vector<Blocks> count_blocks(std::span<const DmaAddress> frames, std::size_t page_size, std::size_t largest);

//! What was found in one pool.
struct PoolFragmentation {
    Pool pool; //!< As it was before the look.
    FreePages looked;
    std::size_t extents = 0;    //!< 0 if hidden.
    std::vector<Blocks> blocks; //!< Empty if hidden, or if there are no free pages.

    //! Free pages that were left alone.
    [[nodiscard]] std::uint64_t left_alone() const noexcept;
};
PoolFragmentation fragmentation_of(const Pool& pool, FreePages looked);

struct FragmentationReport {
    std::vector<PoolFragmentation> pools;
    std::optional<FramesNote> note;
};
Json to_json(const FragmentationReport& report);
std::string to_text(const FragmentationReport& report);

} // namespace mrz::app
