// SPDX-License-Identifier: BSD-3-Clause
#include "pool_memory.hpp"

#include "common/memory_layout.hpp"

#include <rte_mbuf.h>
#include <rte_memory.h>

#include <algorithm>

#include <unistd.h>

namespace mrz::testpmd {

std::vector<MemoryPiece> whole_pages(std::vector<MemoryPiece> pieces, std::size_t page_size)
{
    for (MemoryPiece& piece : pieces) {
        const std::uintptr_t first = piece.address / page_size * page_size;
        const std::uintptr_t end = (piece.end() + page_size - 1) / page_size * page_size;
        piece = {.address = first, .length = end - first};
    }
    std::ranges::sort(pieces, {}, &MemoryPiece::address);
    std::vector<MemoryPiece> merged;
    for (const MemoryPiece& piece : pieces) {
        if (merged.empty() || piece.address > merged.back().end())
            merged.push_back(piece);
        else
            merged.back().length = std::max(merged.back().end(), piece.end()) - merged.back().address;
    }
    return merged;
}

std::vector<MemoryPiece> object_memory(rte_mempool& pool)
{
    std::vector<MemoryPiece> pieces;
    rte_mempool_mem_iter(
        &pool,
        [](rte_mempool*, void* into, rte_mempool_memhdr* chunk, unsigned) {
            static_cast<std::vector<MemoryPiece>*>(into)->push_back(
                {.address = reinterpret_cast<std::uintptr_t>(chunk->addr), .length = chunk->len});
        },
        &pieces);
    return pieces;
}

std::vector<MemoryPiece> data_memory(rte_mempool& pool, bool external)
{
    if (!external)
        return object_memory(pool);
    // Where an external buffer is, only its packet knows; that of a pinned one never changes.
    struct Gathered {
        std::vector<MemoryPiece> pieces;
        std::size_t size;
    } gathered{.pieces = {}, .size = rte_pktmbuf_data_room_size(&pool)};
    rte_mempool_obj_iter(
        &pool,
        [](rte_mempool*, void* into, void* object, unsigned) {
            auto& [pieces, size] = *static_cast<Gathered*>(into);
            const auto address = reinterpret_cast<std::uintptr_t>(static_cast<const rte_mbuf*>(object)->buf_addr);
            if (!pieces.empty() && pieces.back().end() <= address && address - pieces.back().end() < size)
                pieces.back().length = address + size - pieces.back().address; // of one row, with what pads it
            else
                pieces.push_back({.address = address, .length = size});
        },
        &gathered);
    return gathered.pieces;
}

std::size_t page_size_at(std::uintptr_t address)
{
    const rte_memseg_list* const list = rte_mem_virt2memseg_list(reinterpret_cast<const void*>(address));
    return list != nullptr ? list->page_sz : static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

std::uint64_t PiecesCost::entries() const noexcept
{
    std::uint64_t sum = 0;
    for (const Plan& plan : plans)
        sum += plan.total_entries();
    return sum;
}

PiecesCost cost_of(std::span<const MemoryPiece> pieces, std::size_t page_size, const Limits& limits)
{
    PiecesCost cost{.page_size = page_size};
    for (const MemoryPiece& piece : pieces) {
        const auto [known, layout] =
            app::layout_of({reinterpret_cast<const std::byte*>(piece.address), piece.length}, page_size);
        cost.pages += piece.length / page_size;
        cost.frames_known = cost.frames_known && known;
        cost.plans.push_back(make_plan(layout, Iova{piece.address}, limits));
    }
    return cost;
}

} // namespace mrz::testpmd
