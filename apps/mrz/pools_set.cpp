// SPDX-License-Identifier: BSD-3-Clause
// mrz pools set: give a pool a size.
#include "commands.hpp"

#include "common/output.hpp"
#include "common/pool_changes.hpp"
#include "common/pool_request.hpp"

#include <memory>

namespace mrz::app {
namespace {

struct Options {
    std::string request;
    bool dry_run = false;
};

void set(const Options& options, bool json)
{
    const PoolRequest request = parse_pool_request(options.request);
    const PoolStep step = options.dry_run ? PoolChanges::preview(request) : PoolChanges{}.set(request);
    if (json) {
        print_json(Json{{"schema", json_schema},
                        {"page_size", step.page_size},
                        {"node", step.node ? Json(*step.node) : Json(nullptr)},
                        {"before", step.before},
                        {"asked", step.asked},
                        {"obtained", options.dry_run ? Json(nullptr) : Json(step.obtained)},
                        {"in_use_beyond", step.in_use_beyond},
                        {"dry_run", options.dry_run}});
        return;
    }
    std::string text =
        fmt::format("{}: before {}, asked {}, ", pool_name(step.page_size, step.node), step.before, step.asked);
    text += options.dry_run ? "nothing changed (--dry-run)\n" : fmt::format("obtained {}\n", step.obtained);
    if (step.in_use_beyond > 0)
        text += fmt::format("{} more pages are in use and leave the pool when they are freed\n", step.in_use_beyond);
    print_text(text);
}

} // namespace

void add_pools_set(CLI::App& pools, Invocation& invocation)
{
    const auto options = std::make_shared<Options>();
    CLI::App* const command = pools.add_subcommand(
        "set", "Give a pool a size, after noting what it was. If the kernel gives less, the pool stays as it was");
    command->add_option("pool", options->request, "SIZE@PAGE[,node=N], for example 2G@2M or 2G@2M,node=0")
        ->required();
    command->add_flag("--dry-run", options->dry_run, "Say what would be asked for, and change nothing");
    add_json_flag(*command, invocation);
    command->callback(
        [options, &invocation] { invocation.work = [options, &invocation] { set(*options, invocation.json); }; });
}

} // namespace mrz::app
