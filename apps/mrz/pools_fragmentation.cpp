// SPDX-License-Identifier: BSD-3-Clause
// mrz pools --fragmentation: what the free pages of each pool could be made into.
#include "commands.hpp"
#include "fragmentation.hpp"

#include "common/output.hpp"
#include "common/pool_changes.hpp"
#include "common/progress.hpp"
#include "common/signals.hpp"

#include <mrzone/host.hpp>
#include <mrzone/hugepage.hpp>

namespace mrz::app {
namespace {

// Where there are several nodes each has pools of its own; with one node no policy need be asked for.
std::vector<std::optional<int>> nodes_to_look_at()
{
    const std::vector<host::Node> nodes = host::nodes();
    if (nodes.size() < 2)
        return {std::nullopt};
    std::vector<std::optional<int>> ids;
    for (const host::Node& node : nodes)
        ids.emplace_back(node.id);
    return ids;
}

PoolFragmentation look(std::size_t page_size, std::optional<int> node)
{
    throw_if_interrupted();
    const Pool pool = read_pool(page_size, node);
    ProgressBar bar{"looking at free pages"};
    return fragmentation_of(pool, look_at_free_pages(page_size, node, unclaimed_pages(page_size, node),
                                                     [&bar](const BuildProgress& progress) {
                                                         throw_if_interrupted();
                                                         bar.update(progress.taken, progress.wanted);
                                                     }));
}

} // namespace

void show_fragmentation(bool json)
{
    undo_what_a_kill_left();
    FragmentationReport report;
    bool hidden = false;
    for (const std::size_t page_size : hugepage_sizes())
        for (const std::optional<int> node : nodes_to_look_at()) {
            report.pools.push_back(look(page_size, node));
            hidden = hidden || report.pools.back().looked.hidden;
        }
    report.note = frames_note(hidden);
    if (json)
        print_json(to_json(report));
    else
        print_text(to_text(report));
}

} // namespace mrz::app
