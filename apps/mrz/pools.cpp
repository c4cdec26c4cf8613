// SPDX-License-Identifier: BSD-3-Clause
// mrz pools: what there is.
#include "commands.hpp"
#include "libhugetlbfs.hpp"

#include "common/output.hpp"
#include "common/pool_changes.hpp"

#include <mrzone/host.hpp>
#include <mrzone/hugepage.hpp>

#include <algorithm>
#include <memory>

namespace mrz::app {
namespace {

struct Report {
    std::vector<Pool> pools; //!< For each size the whole machine's, then each node's.
    std::vector<host::HugetlbfsMount> mounts;
    std::vector<std::filesystem::path> default_mounts;
};

// libhugetlbfs says which sizes there are and which mounts it uses. It has no call for the counts of one node, nor
// for other mounts: those come from /sys and /proc.
Report look()
{
    Report report;
    const std::vector<std::size_t> page_sizes = hugetlbfs_page_sizes();
    report.pools = read_pools(page_sizes);
    for (const std::size_t page_size : page_sizes)
        if (auto mount = hugetlbfs_mount_for(page_size))
            report.default_mounts.push_back(std::move(*mount));
    report.mounts = host::hugetlbfs_mounts();
    return report;
}

bool is_default(const Report& report, const host::HugetlbfsMount& mount)
{
    return std::ranges::find(report.default_mounts, mount.path) != report.default_mounts.end();
}

Json to_json(const Report& report)
{
    Json pools = Json::array();
    for (const Pool& pool : report.pools)
        pools.push_back({{"page_size", pool.page_size},
                         {"node", pool.node ? Json(*pool.node) : Json(nullptr)},
                         {"total", pool.total},
                         {"free", pool.free},
                         {"surplus", pool.surplus},
                         {"reserved", pool.node ? Json(nullptr) : Json(pool.reserved)},
                         {"overcommit", pool.node ? Json(nullptr) : Json(pool.overcommit)}});
    Json mounts = Json::array();
    for (const host::HugetlbfsMount& mount : report.mounts)
        mounts.push_back({{"path", mount.path.string()},
                          {"page_size", mount.page_size ? Json(*mount.page_size) : Json(nullptr)},
                          {"size", mount.size.value() ? Json(*mount.size.value()) : Json(nullptr)},
                          {"read_only", mount.read_only},
                          {"default", is_default(report, mount)}});
    return {{"schema", json_schema}, {"pools", std::move(pools)}, {"mounts", std::move(mounts)}};
}

std::string to_text(const Report& report)
{
    if (report.pools.empty())
        return "This kernel has no hugepages.\n";
    Table table{{"page", "node", ">total", ">free", ">surplus", ">reserved", ">memory"}};
    for (const Pool& pool : report.pools)
        table.add({format_size(pool.page_size), pool.node ? fmt::format("{}", *pool.node) : "all",
                   fmt::format("{}", pool.total), fmt::format("{}", pool.free), fmt::format("{}", pool.surplus),
                   pool.node ? "-" : fmt::format("{}", pool.reserved), format_size(pool.total * pool.page_size)});
    std::string text = table.text();
    if (report.mounts.empty())
        return text + "\nNo hugetlbfs is mounted (mrzone needs none).\n";
    Table mounts{{"mount", "page", "limit", "access", ""}};
    for (const host::HugetlbfsMount& mount : report.mounts)
        mounts.add({mount.path.string(), mount.page_size ? format_size(*mount.page_size) : "?",
                    mount.size.value() ? format_size(*mount.size.value()) : "none",
                    mount.read_only ? "read only" : "read, write",
                    is_default(report, mount) ? "the one libhugetlbfs uses" : ""});
    return text + "\n" + mounts.text();
}

} // namespace

void add_pools(CLI::App& app, Invocation& invocation)
{
    CLI::App* const pools = app.add_subcommand("pools", "List the page pools and hugetlbfs mounts, or change a pool. "
                                                        "Starts no EAL");
    const auto fragmentation = std::make_shared<bool>(false);
    pools->add_flag("--fragmentation", *fragmentation,
                    "Take the free pages for a look, and count the aligned blocks of each size that they hold");
    add_json_flag(*pools, invocation);
    pools->require_subcommand(0, 1);
    add_pools_set(*pools, invocation);
    add_pools_restore(*pools, invocation);
    pools->callback([pools, fragmentation, &invocation] {
        if (!pools->get_subcommands().empty()) {
            if (*fragmentation)
                throw CLI::ValidationError{"--fragmentation goes with no other command"};
            return;
        }
        if (*fragmentation) {
            invocation.work = [&invocation] { show_fragmentation(invocation.json); };
            return;
        }
        invocation.work = [&invocation] {
            undo_what_a_kill_left();
            const Report report = look();
            if (invocation.json)
                print_json(to_json(report));
            else
                print_text(to_text(report));
        };
    });
}

void add_json_flag(CLI::App& command, Invocation& invocation)
{
    command.add_flag("--json", invocation.json, "Print exactly one JSON object (keys: mrz(1))");
}

} // namespace mrz::app
