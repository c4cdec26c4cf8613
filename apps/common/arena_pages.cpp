// SPDX-License-Identifier: BSD-3-Clause
#include "arena_pages.hpp"

#include "arena_size.hpp"
#include "output.hpp"
#include "process_limits.hpp"
#include "signals.hpp"
#include "size.hpp"

#include <mrzone/hugepage.hpp>

#include <algorithm>
#include <optional>
#include <vector>

namespace mrz::app {
namespace {

constexpr std::size_t default_size = 1_GiB;
constexpr std::size_t smallest_size = 64_MiB;

ArenaPages reserve(std::size_t size, std::size_t page_size, std::optional<int> node, std::uint64_t pages,
                   Effort effort)
{
    check_machine_has(size);
    check_open_files(size / page_size);
    constexpr std::uint64_t small_pages = 8;
    ArenaPages reserved{
        .size = size,
        .small = TemporaryPool{Window::header_size, node, page_size == Window::header_size ? 0 : small_pages},
        .main = TemporaryPool{page_size, node, pages, effort}};
    // DPDK, which comes first, would only say that it has no memory.
    Window::preflight({.size = size, .page_size = page_size, .node = node});
    return reserved;
}

ArenaPages reserve_what_can_be_spared(std::size_t page_size)
{
    std::optional<Error> first;
    for (std::size_t size = std::max(default_size, page_size); size >= std::max(smallest_size, page_size);
         size /= 2) {
        throw_if_interrupted();
        try {
            ArenaPages pages = reserve_for_arena(size, page_size);
            if (first)
                say("{}; going on with {}", first->what(), format_size(size));
            return pages;
        } catch (const Error& error) {
            const Trouble trouble = error.cause().trouble;
            if (trouble != Trouble::hugepages && trouble != Trouble::permission && trouble != Trouble::cgroup)
                throw;
            if (!first)
                first = error;
        }
    }
    throw Error{*first};
}

} // namespace

ArenaPages reserve_for_arena(const std::string& size, std::size_t page_size, std::string_view command)
{
    if (size.empty()) {
        read_pool(page_size); // refuses a page size that this kernel lacks
        return reserve_what_can_be_spared(page_size);
    }
    const std::size_t bytes = parse_size(size, "the size");
    check_arena_size(bytes, page_size, command);
    return reserve_for_arena(bytes, page_size);
}

ArenaPages reserve_for_arena(std::size_t size, std::size_t page_size, std::optional<int> node)
{
    const std::uint64_t needed = size / page_size + overhead_pages(page_size);
    const std::uint64_t choice = needed + std::max(size, Surplus::least_bytes) / page_size;
    std::vector<std::uint64_t> wishes{choice};
    // Pages that are asked for one by one are as scattered as the machine's free memory; a gigabyte is in one piece.
    const std::uint64_t there = unclaimed_pages(page_size, node);
    if (page_size == 2_MiB && there < choice && choice < there + 1_GiB / page_size)
        wishes.insert(wishes.begin(), there + 1_GiB / page_size);
    for (const std::uint64_t pages : wishes) {
        try {
            return reserve(size, page_size, node, pages, Effort::light);
        } catch (const Error& error) {
            if (error.cause().trouble != Trouble::hugepages && error.cause().trouble != Trouble::permission)
                throw;
        }
    }
    return reserve(size, page_size, node, needed, Effort::compact);
}

std::uint64_t overhead_pages(std::size_t page_size)
{
    return page_size >= 1_GiB ? 2 : 16;
}

Surplus surplus_for(std::size_t size, std::size_t page_size, std::optional<int> node)
{
    const std::uint64_t needed = size / page_size;
    const std::uint64_t unclaimed = unclaimed_pages(page_size, node);
    const std::uint64_t spare = unclaimed > needed + 1 ? unclaimed - needed - 1 : 0;
    if (spare == 0)
        return Surplus::exact();
    if (spare < Surplus::least_bytes / page_size) { // a percentage would look at claimed pages, too
        const std::uint64_t available = read_pool(page_size, node).available();
        return Surplus::pool((available > unclaimed ? available - unclaimed + 1 : 1) * page_size);
    }
    return Surplus::percent(static_cast<unsigned>(std::min<std::uint64_t>(spare * 100 / needed, 400)));
}

} // namespace mrz::app
