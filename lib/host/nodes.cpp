// SPDX-License-Identifier: BSD-3-Clause
#include <mrzone/host.hpp>

#include "files.hpp"
#include "parse.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace mrz::host {
namespace {

using Ranges = std::vector<std::pair<std::uint64_t, std::uint64_t>>;

// A kernel list such as "0-1,4"; nothing if it is not one.
std::optional<Ranges> to_ranges(std::string_view text)
{
    Ranges ranges;
    for (const std::string_view part : split(text, ',')) {
        const auto ends = split(part, '-');
        const auto first = to_number(ends.front());
        const auto last = to_number(ends.back());
        if (ends.size() > 2 || !first || !last)
            return std::nullopt;
        ranges.emplace_back(*first, *last);
    }
    return ranges;
}

std::optional<int> node_id(std::string_view name)
{
    static constexpr std::string_view prefix = "node";
    if (!name.starts_with(prefix))
        return std::nullopt;
    const auto id = to_number(name.substr(prefix.size()));
    if (!id || *id > static_cast<std::uint64_t>(std::numeric_limits<int>::max()))
        return std::nullopt;
    return static_cast<int>(*id);
}

std::optional<std::uint64_t> bytes_of(const std::optional<std::string>& text, const std::string& name)
{
    const auto value = text ? field(*text, name) : std::nullopt;
    return value ? kilobytes(*value) : std::nullopt;
}

} // namespace

std::vector<Node> nodes(const Root& root)
{
    const std::filesystem::path folder = "/sys/devices/system/node";
    const auto list = root.text((folder / "has_memory").native());
    const auto with_memory = list ? to_ranges(without_newline(*list)) : std::nullopt;

    std::vector<Node> result;
    for (const std::string& name : root.names(folder.native()).value_or(std::vector<std::string>{})) {
        const auto id = node_id(name);
        if (!id)
            continue;
        const auto meminfo = root.text((folder / name / "meminfo").native());
        const std::string prefix = "Node " + std::to_string(*id) + ' ';
        const Node node{.id = *id,
                        .memory_total = bytes_of(meminfo, prefix + "MemTotal"),
                        .memory_free = bytes_of(meminfo, prefix + "MemFree")};
        const auto covers = [&](const auto& range) {
            return range.first <= static_cast<unsigned>(*id) && static_cast<unsigned>(*id) <= range.second;
        };
        const bool has_memory = with_memory ? std::ranges::any_of(*with_memory, covers) : node.memory_total != 0;
        if (has_memory)
            result.push_back(node);
    }
    if (result.empty())
        result.push_back({});
    if (result.size() == 1) {
        // The only node has all the memory. Kernels that take memory into use little by little count what is still to
        // come in /proc/meminfo alone; containers may be shown a smaller /proc/meminfo. std::nullopt is the least.
        const auto meminfo = root.text("/proc/meminfo");
        Node& only = result.front();
        only.memory_total = std::max(only.memory_total, bytes_of(meminfo, "MemTotal"));
        only.memory_free = std::max(only.memory_free, bytes_of(meminfo, "MemFree"));
    }
    std::ranges::sort(result, {}, &Node::id);
    return result;
}

std::optional<std::uint64_t> memory_total(std::optional<int> node, const Root& root)
{
    std::optional<std::uint64_t> total;
    for (const Node& each : nodes(root))
        if (each.memory_total && (!node || each.id == *node))
            total = total.value_or(0) + *each.memory_total;
    return total;
}

std::optional<std::uint64_t> memory_available(const Root& root)
{
    return bytes_of(root.text("/proc/meminfo"), "MemAvailable");
}

} // namespace mrz::host
