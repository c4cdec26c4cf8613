// SPDX-License-Identifier: BSD-3-Clause
// mrz plan: what registering memory costs.
#include "commands.hpp"
#include "plan_kinds.hpp"

#include "common/arena_size.hpp"
#include "common/input.hpp"
#include "common/layout_file.hpp"
#include "common/output.hpp"
#include "common/pool_request.hpp"
#include "common/size.hpp"

#include <mrzone/host.hpp>
#include <mrzone/hugepage.hpp>
#include <mrzone/plan.hpp>

#include <memory>

namespace mrz::app {
namespace {

struct Options {
    std::string size;
    std::string page = "2M";
    std::string layout;
};

//! What an arena of some size would come to.
struct Forecast {
    std::size_t size = 0;
    Pool pool;
    std::uint64_t pages = 0; //!< Of the pool, header included.
    Plan best;               //!< If the pool holds enough contiguous memory.
    Plan guaranteed;         //!< Whatever the pool's state.
    KindsOfMemory kinds;     //!< What can be had now.
};

Forecast forecast(std::size_t size, std::size_t page_size)
{
    check_arena_size(size, page_size, "mrz plan");
    const Limits limits{.max_page_shift = host::max_registration_shift()};
    Layout whole;
    whole.append(DmaAddress{0}, size);
    const std::uint64_t pages = size / page_size;
    return {.size = size,
            .pool = read_pool(page_size),
            .pages = pages + (page_size == Window::header_size ? 1 : 0),
            .best = make_plan(whole, {}, limits),
            .guaranteed = make_plan(Layout::worst_case(PageShift::of(page_size), pages), {}, limits),
            .kinds = compare_kinds(size, page_size)};
}

Json to_json(const Forecast& forecast)
{
    return {{"schema", json_schema},
            {"size", forecast.size},
            {"page_size", forecast.pool.page_size},
            {"pages", forecast.pages},
            {"available", forecast.pool.available()},
            {"best", plan_to_json(forecast.best)},
            {"guaranteed", plan_to_json(forecast.guaranteed)},
            {"compared", to_json(forecast.kinds)},
            {"not_compared", forecast.kinds.reason.empty() ? Json(nullptr) : Json(forecast.kinds.reason)},
            {"unknown", to_json(forecast.kinds.note)}};
}

std::string entries(const Plan& plan)
{
    return fmt::format("{} {} of {} (limited by {})", plan.mtt_entries(),
                       plan.mtt_entries() == 1 ? "entry" : "entries",
                       format_size(plan.keys.front().page_shift.bytes()), to_string(plan.limit.term));
}

std::string to_text(const Forecast& forecast)
{
    std::string text = fmt::format("An arena of {} takes {} {}{}; {} are available.\n", format_size(forecast.size),
                                   forecast.pages, pool_name(forecast.pool.page_size, {}),
                                   forecast.pool.page_size == Window::header_size ? " (one for the heap's header)"
                                                                                  : " and one 2-MiB page",
                                   forecast.pool.available());
    text += fmt::format("  best        1 key, {}: if the pool has pages that lie together\n", entries(forecast.best));
    text += fmt::format("  guaranteed  1 key, {}: wherever the pages lie\n", entries(forecast.guaranteed));
    if (forecast.pool.available() < forecast.pages)
        text += "try: " + pool_too_small(forecast.pool, forecast.pages).remedy.substr(5) + "\n";
    return text + "\n" + to_text(forecast.kinds);
}

void plan(const Options& options, bool json)
{
    if (options.layout.empty()) {
        const Forecast result =
            forecast(parse_size(options.size, "the size"), parse_size(options.page, "the page size"));
        if (json)
            print_json(to_json(result));
        else
            print_text(to_text(result));
        return;
    }
    const LayoutFile file = parse_layout_file(read_input(options.layout, "the layout"));
    const Plan result = make_optimal_plan(file.layout, file.options, file.limits);
    if (!json) {
        print_text(result.explain() + "\n");
        return;
    }
    Json object{{"schema", json_schema}};
    object.update(plan_to_json(result));
    print_json(object);
}

} // namespace

void add_plan(CLI::App& app, Invocation& invocation)
{
    const auto options = std::make_shared<Options>();
    CLI::App* const command = app.add_subcommand(
        "plan", "Say how many translation entries memory would need. With --size it "
                "takes memory three ways for a look, and starts an EAL, if the pool has the pages");
    CLI::Option_group* const source = command->add_option_group("source", "What to plan");
    source->add_option("--size", options->size, "An arena of this size");
    source->add_option("--layout", options->layout, "The extents in a JSON file; - for standard input");
    source->require_option(1);
    command->add_option("--page", options->page, "The page size of the arena")->capture_default_str();
    add_json_flag(*command, invocation);
    command->callback(
        [options, &invocation] { invocation.work = [options, &invocation] { plan(*options, invocation.json); }; });
}

} // namespace mrz::app
