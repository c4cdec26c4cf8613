// SPDX-License-Identifier: BSD-3-Clause
// The cheapest plan by exhaustion: every set of cuts between pages, every page size and every congruence of iovas.
// Slow and plainly right; shares nothing with the planner but the words.
#pragma once

#include <mrzone/plan.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace mrz::test {

class OptimalModel {
  public:
    static constexpr std::uint64_t impossible = std::numeric_limits<std::uint64_t>::max();
    //! In the order in which equal costs are preferred.
    enum Way { one_key, side_by_side, ksm, klm, ways };

    OptimalModel(const Layout& layout, const PlanOptions& options, const Limits& limits)
        : options_{options}, limits_{limits}
    {
        head_ = layout.extents().front().dma.value() % page;
        tail_ = (page - (head_ + layout.length()) % page) % page;
        for (const Extent& extent : layout.extents())
            for (std::uint64_t at = extent.dma.value() / page * page; at < extent.dma.value() + extent.length;
                 at += page) {
                pages_.push_back(at / page);
                goes_on_.push_back(at / page * page > extent.dma.value());
            }
        own_.resize(pages_.size() * pages_.size(), unknown);
        given_.resize(pages_.size() * pages_.size(), unknown);
    }

    //! The least cost of each way.
    std::vector<std::uint64_t> costs()
    {
        std::vector<std::uint64_t> least(ways, impossible);
        for (std::uint64_t cuts = 0; cuts < std::uint64_t{1} << (pages_.size() - 1); ++cuts) {
            const Way direct = cuts == 0 ? one_key : side_by_side;
            const std::vector<std::size_t> begins = begins_of(cuts);
            if (direct == one_key || !options_.single_key)
                least[direct] = std::min(least[direct], direct_cost(begins, options_.iova.has_value()));
            if (!options_.indirect)
                continue;
            const std::uint64_t under = direct_cost(begins, false);
            if (under == impossible)
                continue;
            if (limits_.indirect.klm)
                least[klm] = std::min(least[klm], with_entries(under, klm_entries(begins)));
            if (limits_.indirect.ksm)
                least[ksm] = std::min(least[ksm], with_entries(under, ksm_entries(begins)));
        }
        return least;
    }

  private:
    static constexpr std::uint64_t page = 4096;
    static constexpr std::uint64_t unknown = impossible - 1;

    [[nodiscard]] std::vector<std::size_t> begins_of(std::uint64_t cuts) const
    {
        std::vector<std::size_t> begins{0};
        for (std::size_t i = 1; i < pages_.size(); ++i)
            if ((cuts >> (i - 1) & 1) != 0)
                begins.push_back(i);
        begins.push_back(pages_.size());
        return begins;
    }

    std::uint64_t direct_cost(const std::vector<std::size_t>& begins, bool iova_given)
    {
        std::uint64_t cost = 0;
        for (std::size_t i = 0; i + 1 < begins.size(); ++i) {
            const std::uint64_t entries =
                iova_given ? entries_at_given(begins[i], begins[i + 1]) : entries_at_own(begins[i], begins[i + 1]);
            if (entries > limits_.max_mtt_entries.value_or(impossible - 1))
                return impossible;
            cost += options_.weights.mkey + options_.weights.mtt * entries;
        }
        return cost;
    }

    [[nodiscard]] std::uint64_t with_entries(std::uint64_t under, std::uint64_t entries) const
    {
        if (entries > limits_.indirect.max_entries.value_or(impossible - 1))
            return impossible;
        return under + options_.weights.mkey + options_.weights.indirect * entries;
    }

    [[nodiscard]] std::uint64_t klm_entries(const std::vector<std::size_t>& begins) const
    {
        std::uint64_t entries = 0;
        for (std::size_t i = 0; i + 1 < begins.size(); ++i) {
            const std::size_t first = begins[i];
            const std::size_t end = begins[i + 1];
            std::uint64_t bytes = (end - first) * page;
            if (first == 0)
                bytes -= head_;
            if (end == pages_.size())
                bytes -= tail_;
            for (std::uint64_t left = bytes; left > 0; left -= std::min(left, limits_.indirect.max_klm_bytes))
                ++entries;
        }
        return entries;
    }

    // With the best entry size, and the best start if there is a choice.
    [[nodiscard]] std::uint64_t ksm_entries(const std::vector<std::size_t>& begins) const
    {
        std::uint64_t fewest = impossible;
        for (unsigned shift = limits_.indirect.min_ksm_shift.value(); shift <= limits_.indirect.max_ksm_shift.value();
             ++shift) {
            const std::uint64_t pages = std::uint64_t{1} << (shift - 12);
            if (options_.iova) {
                if (options_.iova->value() % page == head_)
                    fewest = std::min(fewest, ksm_entries_at(begins, options_.iova->value() / page, pages));
            } else {
                for (std::uint64_t start = 0; start < pages; ++start)
                    fewest = std::min(fewest, ksm_entries_at(begins, start, pages));
            }
        }
        return fewest;
    }

    [[nodiscard]] std::uint64_t ksm_entries_at(const std::vector<std::size_t>& begins, std::uint64_t start,
                                               std::uint64_t pages) const
    {
        for (std::size_t i = 1; i + 1 < begins.size(); ++i)
            if ((start + begins[i]) % pages != 0)
                return impossible;
        return (start + pages_.size() - 1) / pages - start / pages + 1;
    }

    std::uint64_t entries_at_own(std::size_t first, std::size_t end)
    {
        std::uint64_t& known = own_[first * pages_.size() + end - 1];
        if (known != unknown)
            return known;
        known = impossible;
        // What is congruent within the largest page decides.
        for (std::uint64_t iova = 0; iova < limits_.max_page_shift.bytes() / page; ++iova)
            known = std::min(known, entries_at(first, end, iova));
        return known;
    }

    std::uint64_t entries_at_given(std::size_t first, std::size_t end)
    {
        std::uint64_t& known = given_[first * pages_.size() + end - 1];
        if (known == unknown)
            known = options_.iova->value() % page != head_
                        ? impossible
                        : entries_at(first, end, options_.iova->value() / page + first);
        return known;
    }

    [[nodiscard]] std::uint64_t entries_at(std::size_t first, std::size_t end, std::uint64_t iova) const
    {
        std::uint64_t fewest = impossible;
        for (unsigned shift = limits_.min_page_shift.value(); shift <= limits_.max_page_shift.value(); ++shift) {
            const std::uint64_t pages = std::uint64_t{1} << (shift - 12);
            if (!ends_allow(first, end, iova, pages))
                continue;
            fewest = std::min(fewest, cells(first, end, iova, pages));
        }
        return fewest;
    }

    [[nodiscard]] bool ends_allow(std::size_t first, std::size_t end, std::uint64_t iova, std::uint64_t pages) const
    {
        if (limits_.rule == PageSizeRule::memory_region || pages == 1)
            return true;
        if ((first == 0 && head_ != 0) || (end == pages_.size() && tail_ != 0))
            return false;
        return pages_[first] % pages == 0 && iova % pages == 0 && (end - first) % pages == 0;
    }

    // Each cell must lie in one DMA segment, and alike in DMA space.
    [[nodiscard]] std::uint64_t cells(std::size_t first, std::size_t end, std::uint64_t iova,
                                      std::uint64_t pages) const
    {
        std::uint64_t segment = 0;
        std::uint64_t in_segment = 0;
        std::uint64_t count = 0;
        std::optional<std::pair<std::uint64_t, std::uint64_t>> last; // cell and segment
        for (std::size_t i = first; i < end; ++i, ++iova) {
            if (pages_[i] % pages != iova % pages)
                return impossible;
            const bool full = limits_.max_segment && in_segment * page == *limits_.max_segment;
            if (i == first || !goes_on_[i] || full) {
                ++segment;
                in_segment = 0;
            }
            ++in_segment;
            if (last && last->first == iova / pages) {
                if (last->second != segment)
                    return impossible;
            } else {
                ++count;
            }
            last = {iova / pages, segment};
        }
        return count;
    }

    PlanOptions options_;
    Limits limits_;
    std::uint64_t head_ = 0;
    std::uint64_t tail_ = 0;
    std::vector<std::uint64_t> pages_; // DMA page numbers
    std::vector<bool> goes_on_;        // whether the page is contiguous with the one before
    std::vector<std::uint64_t> own_;   // entries from one page to another, at the key's own iova
    std::vector<std::uint64_t> given_; // and at the one asked for
};

} // namespace mrz::test
