// SPDX-License-Identifier: BSD-3-Clause
#include "block_forms.hpp"

#include <algorithm>

namespace mrz {
namespace {

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

Request request_at(std::size_t count, PageShift page, unsigned shift, unsigned largest)
{
    return {.count = count,
            .chunk = std::uint64_t{1} << (shift - page.value()),
            .largest = std::uint64_t{1} << (largest - page.value())};
}

} // namespace

BlockForms::BlockForms(const PoolBlocks& pool, PageShift page, std::size_t count, const Limits& limits)
    : pool_{pool}, page_{page}, count_{count}, limits_{limits},
      // An entry smaller than a page cuts it in equal parts, whatever the order: one page a chunk stands for it.
      smallest_{std::max(limits.min_page_shift, page).value()}, largest_{
                                                                    std::max(limits.max_page_shift, page).value()}
{
}

std::optional<Choice> BlockForms::best() const
{
    std::optional<Choice> best;
    for (unsigned shift = smallest_; shift <= largest_ && !(best && best->entries == 1); ++shift)
        if (const auto choice = at(shift); choice && (!best || choice->entries < best->entries))
            best = choice;
    return best;
}

std::optional<Choice> BlockForms::at(unsigned shift) const
{
    const Request wanted = request_at(count_, page_, shift, largest_);
    return best_form(wanted, pool_.survey(wanted.chunk), shift, limits_.rule);
}

std::vector<PageRun> BlockForms::pieces(const Choice& choice) const
{
    return pieces_of(choice, pool_, request_at(count_, page_, choice.shift, largest_));
}

} // namespace mrz
