// SPDX-License-Identifier: BSD-3-Clause
#include "pool_blocks.hpp"

#include "check.hpp"

#include <algorithm>
#include <bit>

namespace mrz {
namespace {

// A run cut at the edges of blocks. A run is maximal, so a part that does not fill its block lies in an incomplete
// one.
struct Cut {
    PageRun tail;               // in the block before the first edge, and up to that edge
    PageRun whole;              // complete blocks
    PageRun head;               // from the last edge on
    std::optional<PageRun> mid; // set instead of all others if the run touches no edge
};

Cut cut(const PageRun& run, std::uint64_t block)
{
    const std::uint64_t first_edge = (run.first + block - 1) / block * block;
    const std::uint64_t last_edge = run.end() / block * block;
    if (first_edge > last_edge)
        return {.tail = {}, .whole = {}, .head = {}, .mid = run};
    return {.tail = {run.first, first_edge - run.first},
            .whole = {first_edge, last_edge - first_edge},
            .head = {last_edge, run.end() - last_edge},
            .mid = std::nullopt};
}

// Keeps the shortest run that is long enough, and of equals the first seen.
class BestFit {
  public:
    explicit BestFit(std::uint64_t least) : least_{least} {}
    void see(const PageRun& run)
    {
        if (run.count >= least_ && (!best_ || run.count < best_->count))
            best_ = run;
    }
    [[nodiscard]] const std::optional<PageRun>& get() const { return best_; }

  private:
    std::uint64_t least_;
    std::optional<PageRun> best_;
};

// The largest block of up to `largest` pages that holds the page, is aligned, and lies within the run.
std::uint64_t largest_around(std::uint64_t page_number, std::uint64_t block, std::uint64_t largest,
                             const PageRun& run)
{
    while (block < largest) {
        const std::uint64_t wider = 2 * block;
        const std::uint64_t start = page_number / wider * wider;
        if (start < run.first || start + wider > run.end())
            break;
        block = wider;
    }
    return block;
}

} // namespace

PoolBlocks::PoolBlocks(std::span<const DmaAddress> frames, PageShift page)
{
    sorted_.reserve(frames.size());
    for (std::size_t i = 0; i < frames.size(); ++i) {
        if (frames[i].value() % page.bytes() != 0)
            refuse("the frame at DMA address " + format_hex(frames[i].value()) + " is no page of " +
                       format_size(page.bytes()),
                   {.limit = "the page's alignment, in bytes,",
                    .present = std::uint64_t{1} << std::countr_zero(frames[i].value()),
                    .need = page.bytes()},
                   "give frames that begin at a multiple of the page size");
        sorted_.push_back({.page_number = frames[i].value() >> page.value(), .index = i});
    }
    std::sort(sorted_.begin(), sorted_.end(),
              [](const Numbered& a, const Numbered& b) { return a.page_number < b.page_number; });

    for (std::size_t i = 0; i < sorted_.size(); ++i) {
        const std::uint64_t number = sorted_[i].page_number;
        if (i != 0 && number == sorted_[i - 1].page_number)
            refuse("the frame at DMA address " + format_hex(number << page.value()) + " is there twice",
                   {.limit = "the times that a frame may be there", .present = 1}, "give each frame once");
        if (!runs_.empty() && runs_.back().end() == number) {
            ++runs_.back().count;
        } else {
            runs_.push_back({.first = number, .count = 1});
            run_positions_.push_back(i);
        }
    }
}

BlockSurvey PoolBlocks::survey(std::uint64_t block) const
{
    BlockSurvey survey;
    for (const PageRun& run : runs_) {
        const Cut parts = cut(run, block);
        survey.whole += parts.whole.count / block;
        survey.longest_head = std::max(survey.longest_head, parts.head.count);
        survey.longest_tail = std::max(survey.longest_tail, parts.tail.count);
        if (parts.mid)
            survey.longest_inside = std::max(survey.longest_inside, parts.mid->count);
    }
    survey.longest_inside = std::max({survey.longest_inside, survey.longest_head, survey.longest_tail});
    return survey;
}

std::vector<PageRun> PoolBlocks::whole_blocks(std::uint64_t block, std::uint64_t largest, std::uint64_t wanted) const
{
    struct Ranked {
        std::uint64_t around; // pages of the largest complete block it belongs to
        std::uint64_t first;
        bool operator<(const Ranked& other) const
        {
            return around != other.around ? around < other.around : first < other.first;
        }
    };
    std::vector<Ranked> ranked;
    for (const PageRun& run : runs_) {
        const PageRun whole = cut(run, block).whole;
        for (std::uint64_t first = whole.first; first < whole.end(); first += block)
            ranked.push_back({.around = largest_around(first, block, largest, run), .first = first});
    }
    const auto end = ranked.begin() + static_cast<std::ptrdiff_t>(wanted);
    std::nth_element(ranked.begin(), end, ranked.end());
    std::sort(ranked.begin(), end, [](const Ranked& a, const Ranked& b) { return a.first < b.first; });

    std::vector<PageRun> chosen;
    for (auto one = ranked.begin(); one != end; ++one)
        chosen.push_back({.first = one->first, .count = block});
    return chosen;
}

std::optional<PageRun> PoolBlocks::head(std::uint64_t block, std::uint64_t least) const
{
    BestFit best{least};
    for (const PageRun& run : runs_)
        best.see(cut(run, block).head);
    return best.get();
}

std::optional<PageRun> PoolBlocks::tail(std::uint64_t block, std::uint64_t least) const
{
    BestFit best{least};
    for (const PageRun& run : runs_)
        best.see(cut(run, block).tail);
    return best.get();
}

std::optional<PageRun> PoolBlocks::inside(std::uint64_t block, std::uint64_t least) const
{
    BestFit best{least};
    for (const PageRun& run : runs_) {
        const Cut parts = cut(run, block);
        best.see(parts.tail);
        best.see(parts.mid.value_or(PageRun{}));
        best.see(parts.head);
    }
    return best.get();
}

std::size_t PoolBlocks::position(std::uint64_t page_number) const
{
    const auto after = std::upper_bound(runs_.begin(), runs_.end(), page_number,
                                        [](std::uint64_t number, const PageRun& run) { return number < run.first; });
    const auto run = static_cast<std::size_t>(after - runs_.begin()) - 1;
    return run_positions_[run] + (page_number - runs_[run].first);
}

} // namespace mrz
