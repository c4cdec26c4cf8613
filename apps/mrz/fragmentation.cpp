// SPDX-License-Identifier: BSD-3-Clause
#include "fragmentation.hpp"

#include "common/pool_request.hpp"

#include <algorithm>

namespace mrz::app {
namespace {

// The largest page that translation entries can have (mlx5's 5-bit field).
constexpr std::size_t largest_entry = 2_GiB;

std::size_t count_extents(const FreePages& looked, std::size_t page_size)
{
    std::size_t extents = 0;
    for (std::size_t i = 0; i < looked.frames.size(); ++i)
        extents += i == 0 || looked.frames[i] - looked.frames[i - 1] != page_size ? 1 : 0;
    return extents;
}

Json to_json(const PoolFragmentation& found)
{
    const bool known = !found.looked.hidden;
    Json blocks = Json::array();
    for (const Blocks& block : found.blocks)
        blocks.push_back({{"size", block.size}, {"count", block.count}});
    return {{"page_size", found.pool.page_size},
            {"node", found.pool.node ? Json(*found.pool.node) : Json(nullptr)},
            {"free", found.pool.free},
            {"looked_at", found.looked.pages},
            {"left_alone", found.left_alone()},
            {"frames_known", known},
            {"extents", known ? Json(found.extents) : Json(nullptr)},
            {"blocks", known ? blocks : Json(nullptr)},
            {"guaranteed", found.pool.page_size}};
}

std::string share(std::uint64_t bytes, std::uint64_t of)
{
    return fmt::format("{:.0f} %", of == 0 ? 0.0 : 100.0 * static_cast<double>(bytes) / static_cast<double>(of));
}

std::string to_text(const PoolFragmentation& found)
{
    const std::size_t page_size = found.pool.page_size;
    std::string text = fmt::format("{}: {} free, {} looked at", pool_name(page_size, found.pool.node),
                                   found.pool.free, found.looked.pages);
    if (found.looked.hidden)
        return text +
               fmt::format("\n  frames are hidden; guaranteed: blocks of {}, a page each\n", format_size(page_size));
    if (found.left_alone() > 0)
        text += fmt::format(", {} left alone (reserved, claimed, or beyond a limit)", found.left_alone());
    if (found.looked.pages == 0)
        return text + "\n";
    text += fmt::format("\n  {} in {} {}\n", format_size(found.looked.pages * page_size), found.extents,
                        found.extents == 1 ? "extent" : "extents");
    Table table{{"  block", ">could be had", ">of the memory"}};
    for (const Blocks& block : found.blocks)
        table.add({"  " + format_size(block.size), fmt::format("{}", block.count),
                   share(block.count * block.size, found.looked.pages * page_size)});
    return text + table.text();
}

} // namespace

std::vector<Blocks> count_blocks(std::span<const DmaAddress> frames, std::size_t page_size, std::size_t largest)
{
    std::vector<std::uint64_t> whole; // blocks of the size before, as multiples of it
    whole.reserve(frames.size());
    for (const DmaAddress frame : frames)
        whole.push_back(frame.value() / page_size);
    std::vector<Blocks> blocks;
    for (std::size_t size = page_size * 2; size != 0 && (size <= largest || whole.size() > 1); size *= 2) {
        std::size_t kept = 0;
        for (std::size_t i = 0; i + 1 < whole.size(); ++i)
            if (whole[i] % 2 == 0 && whole[i + 1] == whole[i] + 1)
                whole[kept++] = whole[i] / 2;
        whole.resize(kept);
        if (kept > 0 || size <= largest)
            blocks.push_back({.size = size, .count = kept});
    }
    return blocks;
}

std::uint64_t PoolFragmentation::left_alone() const noexcept
{
    return pool.free > looked.pages ? pool.free - looked.pages : 0;
}

PoolFragmentation fragmentation_of(const Pool& pool, FreePages looked)
{
    PoolFragmentation found{.pool = pool, .looked = std::move(looked), .extents = 0, .blocks = {}};
    if (found.looked.frames.empty())
        return found;
    found.extents = count_extents(found.looked, pool.page_size);
    found.blocks = count_blocks(found.looked.frames, pool.page_size, std::max(largest_entry, 2 * pool.page_size));
    return found;
}

Json to_json(const FragmentationReport& report)
{
    Json pools = Json::array();
    for (const PoolFragmentation& pool : report.pools)
        pools.push_back(to_json(pool));
    return {{"schema", json_schema}, {"fragmentation", std::move(pools)}, {"unknown", to_json(report.note)}};
}

std::string to_text(const FragmentationReport& report)
{
    if (report.pools.empty())
        return "This kernel has no hugepages.\n";
    std::string text =
        "Naturally aligned blocks that the free pages hold, each size for itself. The pages were taken, "
        "looked at,\nand given back in order.\n";
    for (const PoolFragmentation& pool : report.pools)
        text += "\n" + to_text(pool);
    return report.note ? text + "\n" + to_text(report.note) : text;
}

} // namespace mrz::app
