// SPDX-License-Identifier: BSD-3-Clause
// The search of cuts.hpp where a key's end is limited by where it began: by its entries, by a DMA segment that is
// full, by pieces. Then one open key a shift is not enough: all are kept that no other beats in every respect.
#include "cuts.hpp"

#include "cut_walk.hpp"

#include <algorithm>
#include <bit>
#include <limits>

namespace mrz {
namespace {

constexpr Place anywhere = std::numeric_limits<Place>::max();
// Some tenths of a second's work.
constexpr std::uint64_t most_steps = std::uint64_t{1} << 26;
constexpr std::size_t most_labels = std::size_t{1} << 23;

class Search {
  public:
    Search(const MemoryRuns& memory, std::span<const Place> places, const Limits& limits, const KeyCosts& costs)
        : memory_{memory}, places_{places}, ends_{memory, limits}, limits_{limits}, costs_{costs},
          known_(places.size())
    {
        if (has_long_runs(memory, limits)) {
            segment_ = *limits.max_segment;
            segment_shift_ = static_cast<unsigned>(std::countr_zero(segment_));
        }
        labels_.push_back({});
        known_[0] = {0, 1};
        for (const unsigned shift : deciding_shifts(memory, limits)) {
            levels_.push_back({.grid = {.shift = shift}, .keys = {}});
            levels_.back().grid.restart(memory.runs().front());
        }
        largest_first_ = limits.rule == PageSizeRule::memory_region && segment_ == 0;
    }

    void enter(std::size_t index)
    {
        const Run& run = memory_.runs()[index];
        const unsigned joint = memory_.joint(index);
        open_smaller(memory_.runs()[index - 1], joint);
        for (Level& level : levels_) {
            if (level.grid.shift > joint) {
                level.grid.restart(run);
                level.keys.clear();
            } else if (segment_ != 0 && run.length() > segment_ && level.grid.shift > segment_shift_) {
                // The break after a first segment from here is no multiple of the page.
                for (OpenKey& key : level.keys)
                    key.reach = std::min(key.reach, run.begin + segment_);
            }
        }
    }

    void close(std::size_t index, Place place, const Run& run)
    {
        found_.clear();
        for (Level& level : levels_) {
            if (level.keys.empty())
                continue;
            steps_ += level.keys.size();
            std::erase_if(level.keys, [place](const OpenKey& key) { return key.reach < place; });
            if (gave_up() || !ends_.may_end(level.grid.shift, place, run))
                continue;
            const std::int64_t entries = entries_cost(level.grid.cell_after(place));
            for (const OpenKey& key : level.keys) {
                const std::int64_t pieces = whole_pieces(place) + (rest(place) > key.rest ? 1 : 0);
                keep({.cost = key.value + entries + costs_.piece * pieces,
                      .pieces = key.pieces + pieces,
                      .place = static_cast<std::uint32_t>(index),
                      .from = static_cast<std::uint32_t>(key.label)},
                     place);
            }
        }
        known_[index] = {labels_.size(), labels_.size() + found_.size()};
        labels_.insert(labels_.end(), found_.begin(), found_.end());
    }

    void open(std::size_t index, Place place, const Run& run)
    {
        const auto [first, end] = known_[index];
        if (largest_first_) {
            const auto largest =
                std::find_if(levels_.rbegin(), levels_.rend(), [](const Level& level) { return level.grid.open; });
            if (largest == levels_.rend())
                return;
            for (std::size_t label = first; label < end && !gave_up(); ++label) {
                insert(*largest, opened(largest->grid, label, place, run));
                begun_.push_back(label);
            }
            return;
        }
        for (std::size_t label = first; label < end && !gave_up(); ++label)
            for (Level& level : levels_)
                if (level.grid.open && ends_.may_begin(level.grid.shift, place, run))
                    insert(level, opened(level.grid, label, place, run));
    }

    LimitedSearch result() const
    {
        if (gave_up())
            return {.complete = false, .partition = {}};
        const auto [first, end] = known_.back();
        const auto less = [](const Label& a, const Label& b) { return a.cost < b.cost; };
        const auto best = std::min_element(labels_.begin() + static_cast<std::ptrdiff_t>(first),
                                           labels_.begin() + static_cast<std::ptrdiff_t>(end), less);
        if (first == end)
            return {};
        Partition partition{.begins = {}, .cost = best->cost};
        for (const Label* label = &*best; label->place != 0; label = &labels_[label->from])
            partition.begins.push_back(places_[labels_[label->from].place]);
        std::reverse(partition.begins.begin(), partition.begins.end());
        return {.complete = true, .partition = std::move(partition)};
    }

  private:
    // A way to cover everything up to a place. Where pieces are limited there may be several, the dearer with fewer.
    struct Label {
        std::int64_t cost = 0;
        std::int64_t pieces = 0;
        std::uint32_t place = 0; // an index
        std::uint32_t from = 0;  // the label that its last key begins at
    };
    struct OpenKey {
        std::int64_t value;  // cost up to its beginning, and its own, less entries and pieces before it
        std::int64_t pieces; // up to its beginning, less those that the places before it are long
        Place reach;         // the last place where it may end
        std::uint64_t rest;  // of its beginning, in its piece if these were counted from 0
        std::size_t label;
    };
    struct Level {
        Grid grid;
        std::vector<OpenKey> keys;
    };

    // Where a key may begin and end anywhere, one that ends in the run that it begins in is best with the largest
    // page. Of smaller ones only those matter that reach over the joint behind.
    void open_smaller(const Run& run, unsigned joint)
    {
        for (Level& level : levels_)
            if (level.grid.shift <= joint)
                for (const std::size_t label : begun_)
                    insert(level, opened(level.grid, label, places_[labels_[label].place], run));
        begun_.clear();
    }

    [[nodiscard]] bool gave_up() const { return steps_ > most_steps || labels_.size() > most_labels; }

    // ceil((b - a) / piece) is b / piece - a / piece, and one more if b's remainder is the larger.
    [[nodiscard]] std::int64_t whole_pieces(Place place) const
    {
        return costs_.max_piece == 0 ? 0 : static_cast<std::int64_t>(memory_.bytes_before(place) / costs_.max_piece);
    }
    [[nodiscard]] std::uint64_t rest(Place place) const
    {
        return costs_.max_piece == 0 ? 0 : memory_.bytes_before(place) % costs_.max_piece;
    }
    [[nodiscard]] std::int64_t entries_cost(std::uint64_t count) const
    {
        return costs_.entry * static_cast<std::int64_t>(count);
    }

    OpenKey opened(const Grid& grid, std::size_t label, Place place, const Run& run) const
    {
        const std::int64_t pieces = (costs_.max_piece == 0 ? 1 : 0) - whole_pieces(place);
        return {.value = labels_[label].cost + costs_.key + costs_.piece * pieces - entries_cost(grid.cell(place)),
                .pieces = labels_[label].pieces + pieces,
                .reach = std::min(reach_by_entries(grid, place), reach_by_segments(grid.shift, place, run)),
                .rest = rest(place),
                .label = label};
    }

    [[nodiscard]] Place reach_by_entries(const Grid& grid, Place place) const
    {
        if (!limits_.max_mtt_entries)
            return anywhere;
        const std::uint64_t first = grid.cell(place);
        const std::uint64_t last_cell = (std::uint64_t{1} << 63) >> grid.shift; // far behind all memory
        if (first >= last_cell || *limits_.max_mtt_entries > last_cell - first)
            return anywhere;
        return ((first + *limits_.max_mtt_entries) << grid.shift) - grid.offset + grid.origin;
    }

    // A key's first segment counts from where it begins, and each break between segments has to be a multiple of the
    // page. The breaks in further runs are multiples of a segment from a multiple of the page: see enter().
    [[nodiscard]] Place reach_by_segments(unsigned shift, Place place, const Run& run) const
    {
        if (segment_ == 0 || run.end - place <= segment_)
            return anywhere;
        const std::uint64_t page = std::uint64_t{1} << shift;
        if ((run.dma_at(place) + segment_) % page != 0)
            return place + segment_;
        if (shift <= segment_shift_ || run.end - place <= 2 * segment_)
            return anywhere;
        return place + 2 * segment_;
    }

    // Whether `a` costs no more than `b` at each place where `b` can end, and has no more pieces.
    [[nodiscard]] bool beats(const OpenKey& a, const OpenKey& b) const
    {
        if (a.reach < b.reach)
            return false;
        const std::int64_t more = a.rest >= b.rest ? 0 : 1;
        return a.value + costs_.piece * more <= b.value && (!costs_.max_pieces || a.pieces + more <= b.pieces);
    }

    void insert(Level& level, const OpenKey& key)
    {
        steps_ += level.keys.size() + 1;
        for (const OpenKey& other : level.keys)
            if (beats(other, key))
                return;
        std::erase_if(level.keys, [this, &key](const OpenKey& other) { return beats(key, other); });
        level.keys.push_back(key);
    }

    void keep(const Label& label, Place place)
    {
        if (!costs_.max_pieces) {
            if (found_.empty())
                found_.push_back(label);
            else if (label.cost < found_.front().cost)
                found_.front() = label;
            return;
        }
        const std::uint64_t left = memory_.bytes_before(memory_.end()) - memory_.bytes_before(place);
        const std::uint64_t still = left == 0 ? 0 : pieces_of(left, costs_.max_piece);
        if (static_cast<std::uint64_t>(label.pieces) + still > *costs_.max_pieces)
            return;
        steps_ += found_.size();
        for (const Label& other : found_)
            if (other.cost <= label.cost && other.pieces <= label.pieces)
                return;
        std::erase_if(found_, [&label](const Label& other) {
            return label.cost <= other.cost && label.pieces <= other.pieces;
        });
        found_.push_back(label);
    }

    const MemoryRuns& memory_;
    std::span<const Place> places_;
    RuleOfEnds ends_;
    const Limits& limits_;
    KeyCosts costs_;
    std::uint64_t segment_ = 0; // none, or none that is ever full
    unsigned segment_shift_ = 0;
    std::vector<Level> levels_;
    std::vector<Label> labels_;
    std::vector<std::pair<std::size_t, std::size_t>> known_; // of each place, its labels
    std::vector<Label> found_;
    bool largest_first_ = false;
    std::vector<std::size_t> begun_; // the labels at which keys begin in the present run
    std::uint64_t steps_ = 0;
};

} // namespace

LimitedSearch cheapest_partition_within(const MemoryRuns& memory, std::span<const Place> places, const Limits& limits,
                                        const KeyCosts& costs)
{
    Search search{memory, places, limits, costs};
    walk(memory, places, search);
    return search.result();
}

} // namespace mrz
