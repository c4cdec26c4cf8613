// SPDX-License-Identifier: BSD-3-Clause
#include <mrzone/plan.hpp>

#include "check.hpp"
#include "pool_blocks.hpp"

#include <algorithm>
#include <utility>

namespace mrz {
namespace {

// How a block is made of DMA space cut into aligned chunks of the size of one translation entry. Any key at that size
// looks like this: an entry maps into one chunk, the first and the last may map part of one, all others a whole one.
enum class Form {
    inside,          // part of one chunk that is not whole
    whole,           // whole chunks
    tail_head_more,  // the tail of one, whole ones, the head of one: together a chunk more than the remainder
    whole_and_piece, // whole ones, and the remainder as the tail before or the head after them
    tail_head,       // the tail of one, whole ones, the head of one: together the remainder
};

struct Choice {
    Form form = Form::whole;
    unsigned shift = 0;
    std::uint64_t entries = 0; // at pages of 2^shift
};

// What is asked of each entry size.
struct Request {
    std::uint64_t count = 0;   // pages
    std::uint64_t chunk = 1;   // pages an entry
    std::uint64_t largest = 1; // pages of the largest entry the device has

    [[nodiscard]] std::uint64_t chunks() const { return count / chunk; }
    [[nodiscard]] std::uint64_t rest() const { return count % chunk; }
};

// The form with the fewest entries; of equals, the one that leaves more whole chunks to others.
//
// A tail and a head are both shorter than a chunk, so together they make up the remainder or a chunk more. A whole
// chunk that serves as a piece is worth a try only where it is the one piece: with two pieces of which one is cut
// from a whole chunk, a form with that chunk whole, or as the one piece, needs no more entries and no other pages.
std::optional<Choice> best_form(const Request& request, const BlockSurvey& have, unsigned shift, PageSizeRule rule)
{
    const std::uint64_t chunks = request.chunks();
    const std::uint64_t rest = request.rest();
    const auto choice = [shift](Form form, std::uint64_t entries) { return Choice{form, shift, entries}; };

    if (rest == 0 && have.whole >= chunks)
        return choice(Form::whole, chunks);
    // Under this rule base and length are multiples of the page size (devx_umem_find_best_pgsize).
    if (rule == PageSizeRule::umem)
        return std::nullopt;
    if (chunks == 0 && have.longest_inside >= rest)
        return choice(Form::inside, 1);
    if (chunks >= 1 && have.whole >= chunks - 1 && have.longest_tail + have.longest_head >= rest + request.chunk)
        return choice(Form::tail_head_more, chunks + 1);
    if (rest == 0 || have.whole < chunks)
        return std::nullopt;
    if (have.whole > chunks || std::max(have.longest_head, have.longest_tail) >= rest)
        return choice(Form::whole_and_piece, chunks + 1);
    if (have.longest_tail + have.longest_head >= rest)
        return choice(Form::tail_head, chunks + 2);
    return std::nullopt;
}

PageRun first_of(const PageRun& run, std::uint64_t count)
{
    return {.first = run.first, .count = count};
}

PageRun last_of(const PageRun& run, std::uint64_t count)
{
    return {.first = run.end() - count, .count = count};
}

// The tail, as long as there is one; then the head, no longer than needed.
std::vector<PageRun> tail_and_head(const PoolBlocks& pool, const Request& request, const BlockSurvey& have,
                                   std::uint64_t wholes)
{
    const std::uint64_t together = request.count - wholes * request.chunk;
    const PageRun tail = pool.tail(request.chunk, have.longest_tail).value();
    const std::uint64_t missing = together - tail.count;
    const PageRun head = pool.head(request.chunk, missing).value();

    std::vector<PageRun> pieces{tail};
    for (const PageRun& whole : pool.whole_blocks(request.chunk, request.largest, wholes))
        pieces.push_back(whole);
    pieces.push_back(first_of(head, missing));
    return pieces;
}

std::vector<PageRun> wholes_and_piece(const PoolBlocks& pool, const Request& request)
{
    const std::uint64_t rest = request.rest();
    const std::optional<PageRun> head = pool.head(request.chunk, rest);
    const std::optional<PageRun> tail = pool.tail(request.chunk, rest);
    if (!head && !tail) {
        std::vector<PageRun> pieces = pool.whole_blocks(request.chunk, request.largest, request.chunks() + 1);
        pieces.back().count = rest;
        return pieces;
    }
    std::vector<PageRun> pieces = pool.whole_blocks(request.chunk, request.largest, request.chunks());
    if (head && (!tail || head->count <= tail->count))
        pieces.push_back(first_of(*head, rest));
    else
        pieces.insert(pieces.begin(), last_of(*tail, rest));
    return pieces;
}

// The pages of a choice, in virtual order.
std::vector<PageRun> pieces_of(const Choice& choice, const PoolBlocks& pool, const Request& request)
{
    const BlockSurvey have = pool.survey(request.chunk);
    switch (choice.form) {
    case Form::inside:
        return {first_of(pool.inside(request.chunk, request.count).value(), request.count)};
    case Form::whole:
        break;
    case Form::tail_head_more:
        return tail_and_head(pool, request, have, request.chunks() - 1);
    case Form::whole_and_piece:
        return wholes_and_piece(pool, request);
    case Form::tail_head:
        return tail_and_head(pool, request, have, request.chunks());
    }
    return pool.whole_blocks(request.chunk, request.largest, request.chunks());
}

Layout layout_of(const std::vector<PageRun>& pieces, PageShift page)
{
    Layout layout;
    for (const PageRun& piece : pieces)
        layout.append(DmaAddress{piece.first << page.value()}, piece.count << page.value());
    return layout;
}

std::uint64_t below(std::uint64_t address, unsigned shift)
{
    return address % (std::uint64_t{1} << shift);
}

// Whether a driver that knows larger pages than its kernel stands could choose one, at an address that agrees with
// the DMA address one bit further. Larger pages still would need the same, so one more bit is all there is to see.
bool leads_too_far(const Layout& layout, unsigned max_shift)
{
    const Limits driver{.max_page_shift = PageShift{max_shift + 1}};
    const Iova agreeing{below(layout.extents().front().dma.value(), max_shift + 1)};
    return make_plan(layout, agreeing, driver).keys.front().page_shift > PageShift{max_shift};
}

// The largest page shift of the drivers that registration meets (mlx5's 5-bit field).
constexpr unsigned driver_max_shift = 31;

// Sets modulus, residue and entries. The address agrees with the DMA address below 2^shift at least.
void set_address(Placement& placement, const Layout& layout, unsigned shift, PageShift page, const Limits& limits)
{
    const unsigned max_shift = limits.max_page_shift.value();
    const std::uint64_t dma = layout.extents().front().dma.value();
    unsigned modulus = std::max(shift, page.value());
    placement.residue = below(dma, modulus);
    // Below the page's own shift there is no choice: both addresses are multiples of the page.
    if (max_shift < driver_max_shift && max_shift >= page.value() && leads_too_far(layout, max_shift)) {
        modulus = max_shift + 1;
        placement.residue = below(dma, modulus) ^ (std::uint64_t{1} << max_shift);
    }
    placement.modulus = PageShift{modulus};
    placement.entries = make_plan(layout, Iova{placement.residue}, limits).mtt_entries();
}

void set_order(Placement& placement, const std::vector<PageRun>& pieces, const PoolBlocks& pool, std::size_t frames)
{
    std::vector<bool> taken(frames);
    for (const PageRun& piece : pieces) {
        const std::size_t start = pool.position(piece.first);
        for (std::size_t position = start; position < start + piece.count; ++position) {
            placement.order.push_back(pool.index(position));
            taken[position] = true;
        }
    }
    for (std::size_t position = frames; position-- > 0;)
        if (!taken[position])
            placement.surplus.push_back(pool.index(position));
}

// The choices there are, one for each size of entry.
class Choices {
  public:
    Choices(const PoolBlocks& pool, PageShift page, std::size_t count, const Limits& limits)
        : pool_{pool}, page_{page}, count_{count}, limits_{limits},
          // An entry smaller than a page cuts it in equal parts, whatever the order: one page a chunk stands for it.
          smallest_{std::max(limits.min_page_shift, page).value()}, largest_{
                                                                        std::max(limits.max_page_shift, page).value()}
    {
    }

    // The choice with the fewest entries, and of equals the one that asks least of the address.
    [[nodiscard]] std::optional<Choice> best() const
    {
        std::optional<Choice> best;
        for (unsigned shift = smallest_; shift <= largest_ && !(best && best->entries == 1); ++shift)
            if (const auto choice = at(shift); choice && (!best || choice->entries < best->entries))
                best = choice;
        return best;
    }

    [[nodiscard]] std::vector<PageRun> pieces(const Choice& choice) const
    {
        return pieces_of(choice, pool_, request(choice.shift));
    }

    // Where a long run is split, its own start decides whether the break is aligned, and the plan alone says what a
    // choice costs. All bits of the address that any entry could need are fixed, so that the plan is the same at
    // each.
    [[nodiscard]] std::vector<PageRun> best_when_split(Placement& placement) const
    {
        std::vector<PageRun> best;
        for (unsigned shift = smallest_; shift <= largest_; ++shift) {
            const auto choice = at(shift);
            if (!choice)
                continue;
            std::vector<PageRun> candidate = pieces(*choice);
            Placement placed;
            set_address(placed, layout_of(candidate, page_), largest_, page_, limits_);
            if (best.empty() || placed.entries < placement.entries) {
                best = std::move(candidate);
                placement = placed;
            }
        }
        return best;
    }

  private:
    [[nodiscard]] Request request(unsigned shift) const
    {
        return {.count = count_,
                .chunk = std::uint64_t{1} << (shift - page_.value()),
                .largest = std::uint64_t{1} << (largest_ - page_.value())};
    }
    [[nodiscard]] std::optional<Choice> at(unsigned shift) const
    {
        const Request wanted = request(shift);
        return best_form(wanted, pool_.survey(wanted.chunk), shift, limits_.rule);
    }

    const PoolBlocks& pool_;
    PageShift page_;
    std::size_t count_;
    const Limits& limits_;
    unsigned smallest_;
    unsigned largest_;
};

bool has_run_longer_than(const Layout& layout, std::size_t segment)
{
    return std::any_of(layout.extents().begin(), layout.extents().end(),
                       [segment](const Extent& extent) { return extent.length > segment; });
}

} // namespace

Placement place(std::span<const DmaAddress> frames, PageShift page, std::size_t count, const Limits& limits)
{
    check_limits(limits);
    if (count == 0 || count > frames.size())
        refuse("cannot choose " + std::to_string(count) + " of " + std::to_string(frames.size()) + " pages",
               {.limit = count == 0 ? "the pages asked for" : "the pages to choose from",
                .present = count == 0 ? count : frames.size(),
                .need = std::max<std::size_t>(count, 1)},
               "ask for at least one page, and no more than there are");
    const PoolBlocks pool{frames, page};
    const Choices choices{pool, page, count, limits};
    const std::optional<Choice> best = choices.best();
    if (!best)
        refuse("no choice of " + std::to_string(count) + " pages fits the device's smallest page of " +
                   format_size(limits.min_page_shift.bytes()),
               {.limit = "the device's smallest page, in bytes,", .present = limits.min_page_shift.bytes()},
               "give more pages to choose from, or fewer to place");

    Placement placement;
    std::vector<PageRun> pieces = choices.pieces(*best);
    const Layout layout = layout_of(pieces, page);
    if (limits.max_segment && has_run_longer_than(layout, *limits.max_segment))
        pieces = choices.best_when_split(placement);
    else
        set_address(placement, layout, best->shift, page, limits);

    placement.order.reserve(count);
    placement.surplus.reserve(frames.size() - count);
    set_order(placement, pieces, pool, frames.size());
    return placement;
}

} // namespace mrz
