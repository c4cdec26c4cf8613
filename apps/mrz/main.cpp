// SPDX-License-Identifier: BSD-3-Clause
#include "commands.hpp"

#include "common/command_line.hpp"
#include "common/output.hpp"
#include "common/signals.hpp"
#include "common/standard_files.hpp"

#include <algorithm>
#include <cerrno>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

constexpr auto description = "Hugepages for RDMA: page pools, plans, pictures, and what they are good for.\n"
                             "\"demo\", \"map\" and \"plan\" of a size start DPDK's EAL; \"pools\" needs none.";

// Help for the command that is named, through as many levels as are named.
std::string help_for(const CLI::App& app, const std::vector<std::string>& names)
{
    const CLI::App* command = &app;
    std::string before;
    for (const std::string& name : names) {
        before += (before.empty() ? "" : " ") + command->get_name();
        command = command->get_subcommand(name);
    }
    return command->help(before);
}

// As the parser takes flags: --json alone, or with a value that does not deny it.
bool asks_for_json(std::string_view word)
{
    constexpr std::string_view flag = "--json";
    if (!word.starts_with(flag))
        return false;
    word.remove_prefix(flag.size());
    constexpr std::string_view denials[] = {"=false", "=off", "=no", "=n", "=f", "=disable", "=0", "=-"};
    return word.empty() || (word.front() == '=' && std::ranges::find(denials, word) == std::end(denials));
}

} // namespace

int main(int argc, char** argv)
{
    mrz::app::occupy_standard_files();
    using namespace mrz::app;
    watch_signals();

    Invocation invocation;
    CLI::App app{description, "mrz"};
    try {
        app.set_version_flag("--version", "mrz " MRZ_VERSION);
        app.require_subcommand(1);
        app.footer("See mrz(1) for the JSON keys, the exit status and examples.");
        add_pools(app, invocation);
        add_plan(app, invocation);
        add_map(app, invocation);
        add_demo(app, invocation);

        std::vector<std::string> help_names;
        CLI::App* const help = app.add_subcommand("help", "Explain a command");
        help->add_option("command", help_names, "The command, for example: pools set");
        help->callback([&] { invocation.work = [&] { print_text(help_for(app, help_names)); }; });

        if (std::optional<std::string> text = parse_command_line(app, argc, argv))
            invocation.work = [text = *std::move(text)] { print_text(text); };
        return run_and_report(invocation.json, [&] {
            try {
                invocation.work();
            } catch (const CLI::Error& error) { // "help" for something that is no command
                refuse_command_line(error.what(), "see: mrz --help");
            }
        });
    } catch (const mrz::Error& error) { // of the command line: the parser may have stopped before it came to --json
        return report_error(std::any_of(argv + 1, argv + argc, asks_for_json), error.error_number(), error.cause());
    } catch (const std::exception& error) {
        return report_error(invocation.json, EIO,
                            {.what = error.what(), .limit = "a fault of this program", .remedy = "report it"});
    }
}
