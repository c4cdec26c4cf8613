// SPDX-License-Identifier: BSD-3-Clause
// mrz map: a picture of where hugepages lie.
#include "commands.hpp"
#include "common/map_picture.hpp"
#include "map_look.hpp"
#include "map_svg.hpp"

#include "common/output.hpp"
#include "common/output_file.hpp"
#include "common/pool_changes.hpp"
#include "common/size.hpp"

#include <cerrno>
#include <limits>
#include <memory>
#include <optional>

namespace mrz::app {
namespace {

struct Options {
    std::optional<pid_t> pid;
    std::string size;
    std::string page = "2M";
    std::string svg;
};

void map(const Options& options, bool json)
{
    if (json && options.svg == "-")
        throw Error{EINVAL, Cause{.trouble = Trouble::invalid,
                                  .what = "the command line",
                                  .limit = "standard output takes one of --json and --svg -",
                                  .remedy = "give --svg a file"}};
    MapView view;
    if (options.pid) {
        view = look_at_process(*options.pid);
    } else {
        undo_what_a_kill_left();
        view = look_at_arena(options.size, parse_size(options.page, "the page size"));
    }
    if (!options.svg.empty())
        write_output(options.svg, draw_svg(view), "the drawing");
    if (json)
        print_json(to_json(view));
    else if (options.svg != "-")
        print_text(draw_text(view, wants_colour()));
}

} // namespace

void add_map(CLI::App& app, Invocation& invocation)
{
    const auto options = std::make_shared<Options>();
    CLI::App* const command = app.add_subcommand(
        "map",
        "Draw where hugepages lie, a process's or an arena's: extents, breaks, entries. Without --pid it starts "
        "an EAL, and enlarges the page pool for as long as it runs");
    CLI::Option* const pid = command->add_option("--pid", options->pid, "The process to look at")
                                 ->check(CLI::Range(1, std::numeric_limits<pid_t>::max()));
    command->add_option("--size", options->size, "An arena of this size (default: 1G, or what the machine can spare)")
        ->excludes(pid);
    command->add_option("--page", options->page, "The page size of the arena")->capture_default_str()->excludes(pid);
    command->add_option("--svg", options->svg, "Write a drawing to this file; -: standard output, and nothing else");
    add_json_flag(*command, invocation);
    command->callback(
        [options, &invocation] { invocation.work = [options, &invocation] { map(*options, invocation.json); }; });
}

} // namespace mrz::app
