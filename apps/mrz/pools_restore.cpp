// SPDX-License-Identifier: BSD-3-Clause
// mrz pools restore: undo every "mrz pools set", and what killed programs left.
#include "commands.hpp"

#include "common/output.hpp"
#include "common/pool_changes.hpp"

namespace mrz::app {
namespace {

Json to_json(const std::vector<PoolStep>& steps)
{
    Json out = Json::array();
    for (const PoolStep& step : steps)
        out.push_back({{"page_size", step.page_size},
                       {"node", step.node ? Json(*step.node) : Json(nullptr)},
                       {"before", step.before},
                       {"asked", step.asked},
                       {"obtained", step.obtained},
                       {"in_use_beyond", step.in_use_beyond}});
    return out;
}

void restore(bool json)
{
    std::vector<PoolStep> undone;
    std::vector<PoolStep> restored;
    if (PoolJournal::exists(PoolJournal::default_folder())) {
        PoolChanges changes;
        undone = changes.undone();
        restored = changes.restore();
    }
    if (json) {
        print_json(Json{{"schema", json_schema}, {"restored", to_json(restored)}, {"undone", to_json(undone)}});
        return;
    }
    std::string text;
    for (const auto* const steps : {&undone, &restored})
        for (const PoolStep& step : *steps)
            text += fmt::format("{}: before {}, asked {}, obtained {}\n", pool_name(step.page_size, step.node),
                                step.before, step.asked, step.obtained);
    print_text(text.empty() ? "nothing to restore\n" : text);
}

} // namespace

void add_pools_restore(CLI::App& pools, Invocation& invocation)
{
    CLI::App* const command = pools.add_subcommand(
        "restore",
        "Give every pool the size that it had before the first \"set\", and undo what killed programs left");
    add_json_flag(*command, invocation);
    command->callback([&invocation] { invocation.work = [&invocation] { restore(invocation.json); }; });
}

} // namespace mrz::app
