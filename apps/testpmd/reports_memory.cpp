// SPDX-License-Identifier: BSD-3-Clause
#include "reports.hpp"

#include "pool_bytes.hpp"
#include "pool_memory.hpp"

#include "common/frames_note.hpp"
#include "common/map_arena.hpp"
#include "common/map_picture.hpp"
#include "common/output.hpp"

#include <mrzone/host.hpp>
#include <mrzone/hugepage.hpp>
#include <mrzone/zone.hpp>

#include <fmt/format.h>
#include <rte_errno.h>
#include <rte_malloc.h>
#include <rte_mbuf.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace mrz::testpmd {
namespace {

constexpr std::string_view no_arena = "There is no arena: all packets are in plain DPDK memory (--mp-alloc=native)\n";

//! What plans here are made for: the domain's device, or the best that this kernel knows to register with.
Limits limits_of(PacketMemory& memory)
{
    Limits limits =
        memory.domain() ? memory.domain()->limits() : Limits{.max_page_shift = host::max_registration_shift()};
    limits.indirect = {}; // one direct key, as everybody has it
    return limits;
}

std::string note(bool hidden)
{
    return app::to_text(app::frames_note(hidden));
}

bool overlaps(const MemoryPiece& piece, const void* address, std::size_t length)
{
    const auto first = reinterpret_cast<std::uintptr_t>(address);
    return piece.address < first + length && first < piece.end();
}

bool overlaps(std::span<const MemoryPiece> pieces, const void* address, std::size_t length)
{
    return std::ranges::any_of(pieces, [&](const MemoryPiece& piece) { return overlaps(piece, address, length); });
}

std::size_t length_of(std::span<const MemoryPiece> pieces)
{
    std::size_t sum = 0;
    for (const MemoryPiece& piece : pieces)
        sum += piece.length;
    return sum;
}

std::string describe(rte_mempool& pool)
{
    return fmt::format("{} buffers of {} bytes", pool.size, rte_pktmbuf_data_room_size(&pool));
}

// ---- show arenas -------------------------------------------------------------------------------------------------

std::string window_text(const Arena& arena, const Window& window, std::size_t index, const Limits& limits)
{
    const std::size_t page_size = window.map().page_size;
    std::string text = fmt::format(
        "  window {}: header page of {} at {}, block of {} at {} in {} of {}; frames {}\n", index,
        format_size(Window::header_size), format_hex(reinterpret_cast<std::uintptr_t>(window.address())),
        format_size(window.block().size()), format_hex(reinterpret_cast<std::uintptr_t>(window.block().data())),
        app::counted(window.block().size() / page_size, "page", "pages"), format_size(page_size),
        window.frames_known() ? "known" : "hidden");
    text += fmt::format("    one key over the block: {}\n", window.plan(limits).explain());
    for (const Domain& domain : arena.domains()) {
        const Region& block = arena.region(domain, window.block().data(), window.block().size());
        const Region& header = arena.region(domain, window.address(), Window::header_size);
        text += fmt::format("    registered in {} ({}): lkey {:#x} over the block, lkey {:#x} over the header page\n"
                            "      as {}\n",
                            domain.name(), domain.driver(), block.lkey().value, header.lkey().value,
                            block.plan().explain());
    }
    return text;
}

std::string heap_text(int socket)
{
    rte_malloc_socket_stats heap{};
    if (rte_malloc_get_socket_stats(socket, &heap) != 0)
        return {};
    const double used = heap.heap_totalsz_bytes == 0 ? 0.0
                                                     : 100.0 * static_cast<double>(heap.heap_allocsz_bytes) /
                                                           static_cast<double>(heap.heap_totalsz_bytes);
    return fmt::format("  heap: {} of {} used ({:.0f} %) by {}; the largest free piece is {}\n",
                       format_size(heap.heap_allocsz_bytes), format_size(heap.heap_totalsz_bytes), used,
                       app::counted(heap.alloc_count, "element", "elements"), format_size(heap.greatest_free_size));
}

std::string pool_text(const PacketPool& packets)
{
    rte_mempool& pool = *packets.pool;
    const bool external = packets.kind == PoolKind::arena_extbuf;
    const auto pieces = object_memory(pool);
    std::string text = fmt::format("  pool {} ({}): {}, {} available; {} of objects in {}", pool.name,
                                   to_string(packets.kind), describe(pool), rte_mempool_avail_count(&pool),
                                   format_size(length_of(pieces)), app::counted(pieces.size(), "piece", "pieces"));
    if (external) {
        const auto data = data_memory(pool, external);
        text += fmt::format(", {} of data in {}", format_size(length_of(data)),
                            app::counted(data.size(), "piece", "pieces"));
    }
    return text + "\n";
}

// ---- show plan ---------------------------------------------------------------------------------------------------

//! What a pool's memory costs somewhere.
struct Costs {
    app::Table table{{"memory", ">pages", ">of", ">keys", ">entries", ">largest", "limited by"}};
    std::uint64_t entries = 0;
    bool hidden = false;
    std::string details;

    void add(const std::string& name, const PiecesCost& cost, bool counts);
};

void Costs::add(const std::string& name, const PiecesCost& cost, bool counts)
{
    const Plan& worst = *std::ranges::max_element(cost.plans, {}, &Plan::mtt_entries);
    PageShift largest{12};
    for (const Plan& plan : cost.plans)
        largest = std::max(largest, plan.keys.front().page_shift);
    table.add({name, std::to_string(cost.pages), format_size(cost.page_size), std::to_string(cost.plans.size()),
               std::to_string(cost.entries()), format_size(largest.bytes()),
               std::string{to_string(worst.limit.term)}});
    details += fmt::format("  {}: {}{}\n", name, cost.plans.size() > 1 ? "the key with the most entries: " : "",
                           worst.explain());
    hidden = hidden || !cost.frames_known;
    if (counts)
        entries += cost.entries();
}

PiecesCost cost_of_pool(rte_mempool& pool, bool external, const Limits& limits)
{
    const std::vector<MemoryPiece> pieces = data_memory(pool, external);
    const std::size_t page_size = page_size_at(pieces.front().address);
    return cost_of(whole_pages(pieces, page_size), page_size, limits);
}

//! What is registered of an arena so that packets at \p pieces can be sent: whole blocks.
void add_arena(Costs& costs, const Arena& arena, std::span<const MemoryPiece> pieces, const Limits& limits)
{
    const std::span<const Window> windows = arena.windows();
    for (std::size_t i = 0; i < windows.size(); ++i) {
        const Window& window = windows[i];
        const std::string name = windows.size() == 1 ? "arena" : fmt::format("arena, window {}", i);
        const std::size_t page_size = window.map().page_size;
        if (overlaps(pieces, window.block().data(), window.block().size()))
            costs.add(name + ": block",
                      {.pages = window.block().size() / page_size,
                       .page_size = page_size,
                       .frames_known = window.frames_known(),
                       .plans = {window.plan(limits)}},
                      true);
        if (overlaps(pieces, window.address(), Window::header_size)) {
            const MemoryPiece header{.address = reinterpret_cast<std::uintptr_t>(window.address()),
                                     .length = Window::header_size};
            costs.add(name + ": header page", cost_of({&header, 1}, Window::header_size, limits), true);
        }
    }
}

std::string plan_of(PacketMemory& memory, const PacketPool& packets, const Limits& limits)
{
    rte_mempool& pool = *packets.pool;
    const bool external = packets.kind == PoolKind::arena_extbuf;
    std::string text = fmt::format("\npool {} ({}): {}\n", pool.name, to_string(packets.kind), describe(pool));
    Costs costs;
    if (packets.kind == PoolKind::native) {
        costs.add("plain DPDK memory", cost_of_pool(pool, external, limits), true);
        return text + costs.table.text() + costs.details + note(costs.hidden);
    }
    add_arena(costs, *memory.arena(), data_memory(pool, external), limits);
    costs.add("the packets' pages of it", cost_of_pool(pool, external, limits), false);

    std::string sentence;
    const std::unique_ptr<rte_mempool, PacketPool::Free> twin{
        rte_pktmbuf_pool_create("testpmd_plain_twin", pool.size, pool.cache_size, rte_pktmbuf_priv_size(&pool),
                                rte_pktmbuf_data_room_size(&pool), SOCKET_ID_ANY)};
    if (twin == nullptr) {
        sentence =
            fmt::format("The same pool in plain DPDK memory could not be made to compare: {} ({})\n",
                        how_to_give(pool_bytes(pool.size, pool.elt_size, native_page_size)), rte_strerror(rte_errno));
    } else {
        const PiecesCost cost = cost_of_pool(*twin, false, limits);
        costs.add("the same pool, plain DPDK", cost, false);
        sentence = fmt::format("{} here, {} for the same pool in plain DPDK memory\n",
                               app::counted(costs.entries, "entry", "entries"), cost.entries());
    }
    return text + costs.table.text() + costs.details + sentence + note(costs.hidden);
}

} // namespace

std::string arenas(Session& session)
{
    PacketMemory& memory = session.memory();
    const Arena* const arena = memory.arena();
    std::string text;
    if (arena == nullptr) {
        text = no_arena;
    } else {
        const std::span<const Window> windows = arena->windows();
        text = fmt::format("arena {}: socket {}, {} in {}\n", arena->name(), arena->socket_id(),
                           format_size(arena->size()), app::counted(windows.size(), "window", "windows"));
        for (std::size_t i = 0; i < windows.size(); ++i)
            text += window_text(*arena, windows[i], i, limits_of(memory));
        text += heap_text(arena->socket_id());
    }
    text += pool_text(memory.packets());
    if (arena != nullptr)
        text += note(!std::ranges::all_of(arena->windows(), &Window::frames_known));
    return text;
}

std::string plan(Session& session)
{
    PacketMemory& memory = session.memory();
    const Limits limits = limits_of(memory);
    const std::string text =
        memory.domain()
            ? fmt::format("Entries of one direct key a range, with the pages that {} has\n", memory.domain()->name())
            : "Entries of one direct key a range, with the largest pages that this kernel registers\n";
    return text + plan_of(memory, memory.packets(), limits);
}

std::string map(Session& session)
{
    const Arena* const arena = session.memory().arena();
    if (arena == nullptr)
        return std::string{no_arena};
    const std::string title = fmt::format("arena {}, {}", arena->name(), format_size(arena->size()));
    return app::draw_text(app::view_of(title, app::ranges_of(*arena)), app::wants_colour());
}

} // namespace mrz::testpmd
