// SPDX-License-Identifier: BSD-3-Clause
#include "command_line.hpp"

#include <mrzone/base.hpp>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace mrz::app {
namespace {

// The parser's own words for a command that there is not speak of arguments.
std::string limit_of(const CLI::Error& error, const CLI::App& app)
{
    const std::vector<std::string> unknown = app.remaining();
    const bool has_commands = !app.get_subcommands(nullptr).empty();
    if (has_commands && !unknown.empty() && !unknown.front().starts_with('-'))
        return "there is no command " + unknown.front();
    return error.what();
}

} // namespace

void refuse_command_line(std::string limit, std::string remedy)
{
    throw Error{EINVAL,
                {.trouble = Trouble::invalid,
                 .what = "the command line",
                 .limit = std::move(limit),
                 .remedy = std::move(remedy)}};
}

std::optional<std::string> parse_command_line(CLI::App& app, std::vector<std::string> words)
{
    try {
        std::ranges::reverse(words); // the parser's wish
        app.parse(words);
        return std::nullopt;
    } catch (const CLI::CallForHelp&) {
        return app.help();
    } catch (const CLI::CallForVersion& version) {
        return std::string{version.what()} + "\n";
    } catch (const CLI::Error& error) {
        const std::string& name = app.get_name();
        refuse_command_line(limit_of(error, app), "see: " + name.substr(0, name.find(' ')) + " --help");
    }
}

std::optional<std::string> parse_command_line(CLI::App& app, int argc, const char* const* argv)
{
    return parse_command_line(app, {argv + 1, argv + argc});
}

} // namespace mrz::app
