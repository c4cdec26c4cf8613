// SPDX-License-Identifier: BSD-3-Clause
// A layout in whole kernel pages, as the search for places to cut sees it.
//
// A place is a distance in bytes from the start of the page that the layout begins in, so that places that are
// multiples of 4 KiB are the starts of pages: those at which a layout may be cut.
#pragma once

#include <mrzone/plan.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace mrz {

using Place = std::uint64_t;

//! An extent in whole pages.
struct Run {
    Place begin = 0;
    Place end = 0;
    std::uint64_t dma = 0; //!< Of `begin`.
    //! What a key may have for page shift if it reaches into this run: its congruence with the iova asked for. 64 if
    //! the key may choose its iova.
    unsigned congruence = 64;

    [[nodiscard]] std::uint64_t dma_at(Place place) const noexcept { return dma + (place - begin); }
    [[nodiscard]] std::uint64_t length() const noexcept { return end - begin; }
};

class MemoryRuns {
  public:
    //! The runs of a layout of at most 2^62 bytes; none if it breaks within a page: nothing can map such memory.
    //! \param iova at which each key has to keep its place; none if each may choose its own.
    static std::optional<MemoryRuns> of(const Layout& layout, std::optional<Iova> iova);

    [[nodiscard]] const std::vector<Run>& runs() const noexcept { return runs_; }
    [[nodiscard]] Place end() const noexcept { return runs_.back().end; }
    //! The bytes before the layout in its first page, and behind it in its last.
    [[nodiscard]] std::uint64_t head() const noexcept { return head_; }
    [[nodiscard]] std::uint64_t tail() const noexcept { return tail_; }
    //! How much of the layout lies before a place: what lies between two is a key's length, whatever its ends.
    [[nodiscard]] std::uint64_t bytes_before(Place place) const noexcept
    {
        return place == 0 ? 0 : place - head_ - (place == end() ? tail_ : 0);
    }
    //! The largest page shift at which one key can reach from run i - 1 into run i.
    [[nodiscard]] unsigned joint(std::size_t i) const noexcept;
    [[nodiscard]] std::uint64_t longest_run() const noexcept { return longest_; }
    //! The largest shift at which all runs begin and end at multiples, in places and DMA addresses alike.
    [[nodiscard]] unsigned common_shift() const noexcept { return common_; }

  private:
    std::vector<Run> runs_;
    std::uint64_t head_ = 0;
    std::uint64_t tail_ = 0;
    std::uint64_t longest_ = 0;
    unsigned common_ = 63;
};

//! Whether there are runs that a DMA segment ends in.
inline bool has_long_runs(const MemoryRuns& memory, const Limits& limits)
{
    return limits.max_segment && memory.longest_run() > *limits.max_segment;
}

} // namespace mrz
