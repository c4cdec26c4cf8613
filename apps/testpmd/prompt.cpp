// SPDX-License-Identifier: BSD-3-Clause
#include "prompt.hpp"

#include "commands.hpp"
#include "line_editor.hpp"
#include "lines.hpp"

#include "common/input.hpp"
#include "common/output.hpp"
#include "common/signals.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <span>

#include <unistd.h>

namespace mrz::testpmd {
namespace {

// Scripts wait for it.
constexpr std::string_view prompt = "testpmd> ";

//! Calls a function about once a second, by whoever waits.
class EverySecond {
  public:
    explicit EverySecond(const std::function<void()>& call) : call_{call} {}

    //! How long until the next call, at most a second. Calls if it is time.
    std::chrono::milliseconds next()
    {
        const auto now = Clock::now();
        if (now >= due_) {
            call_();
            due_ = now + std::chrono::seconds{1};
        }
        return std::max(std::chrono::ceil<std::chrono::milliseconds>(due_ - Clock::now()),
                        std::chrono::milliseconds{0});
    }

  private:
    using Clock = std::chrono::steady_clock;
    const std::function<void()>& call_;
    Clock::time_point due_ = Clock::now() + std::chrono::seconds{1};
};

//! Reads what there is on standard input, waiting for it. \return how many bytes; 0 at its end, which a terminal
//! that hung up is, too. Throws app::Interrupted; Error (invalid).
std::size_t read_some(std::span<char> buffer, EverySecond& every_second)
{
    for (;;) {
        const auto most = every_second.next();
        app::throw_if_interrupted();
        if (!app::wait_readable_or(STDIN_FILENO, most))
            continue; // a signal, or a second has passed
        const ssize_t got = ::read(STDIN_FILENO, buffer.data(), buffer.size());
        if (got >= 0)
            return static_cast<std::size_t>(got);
        if (errno == EINTR || errno == EAGAIN)
            continue;
        if (errno == EIO)
            return 0;
        throw Error{errno, Cause{.trouble = Trouble::invalid,
                                 .what = "reading commands from standard input",
                                 .limit = std::strerror(errno),
                                 .remedy = "give the commands by --cmdline-file, or by a pipe"}};
    }
}

PromptEnd read_terminal(CommandRunner& runner, EverySecond& every_second)
{
    const RawTerminal raw;
    LineEditor editor{std::string{prompt}, runner.parser()};
    char key = 0; // one by one: what is typed after "quit" is the shell's
    while (read_some({&key, 1}, every_second) != 0) {
        switch (editor.type(key)) {
        case LineEditor::Key::edited:
            break;
        case LineEditor::Key::end_of_input:
            return PromptEnd::end_of_input;
        case LineEditor::Key::line:
            if (!runner.run(editor.text()))
                return PromptEnd::quit;
            editor.next_line();
            break;
        }
    }
    return PromptEnd::end_of_input;
}

//! Shows a line behind the prompt, and carries it out. \return whether there may be more.
bool run_shown(CommandRunner& runner, std::string_view line)
{
    app::throw_if_interrupted();
    if (runner.parser().parse(line).kind == LineKind::nothing)
        return true;
    app::print_text(fmt::format("{}{}\n", prompt, line));
    return runner.run(line);
}

Lines lines_for(CommandRunner& runner)
{
    return Lines{[&runner](const std::string& line) { return run_shown(runner, line); },
                 [] { app::say("a line is left out: it is longer than {} bytes", Lines::longest); }};
}

PromptEnd read_lines(CommandRunner& runner, EverySecond& every_second)
{
    Lines lines = lines_for(runner);
    std::array<char, 4096> buffer;
    while (const std::size_t got = read_some(buffer, every_second))
        if (!lines.add({buffer.data(), got}))
            return PromptEnd::quit;
    return lines.finish() ? PromptEnd::end_of_input : PromptEnd::quit;
}

//! A signal ends a prompt wherever it is, also in the middle of what it shows.
template <class Read>
PromptEnd until_interrupted(Read read)
{
    try {
        return read();
    } catch (const app::Interrupted&) {
    } catch (const Error&) {
        if (app::pending_interrupt() == 0)
            throw;
        std::clearerr(stdout);
    }
    return PromptEnd::interrupted;
}

} // namespace

PromptEnd run_prompt(Session& session, const std::function<void()>& every_second)
{
    CommandRunner runner{session};
    EverySecond second{every_second};
    if (::isatty(STDIN_FILENO) != 1)
        return until_interrupted([&] { return read_lines(runner, second); });
    const PromptEnd end = until_interrupted([&] { return read_terminal(runner, second); });
    if (end != PromptEnd::quit)
        std::fputs("\n", stdout); // what follows begins a line
    return end;
}

PromptEnd run_command_file(Session& session, const std::string& path)
{
    CommandRunner runner{session};
    return until_interrupted([&] {
        Lines lines = lines_for(runner);
        const bool all = lines.add(app::read_input(path, "commands")) && lines.finish();
        if (all)
            app::print_text(fmt::format("Read CLI commands from {}\n", path));
        return all ? PromptEnd::end_of_input : PromptEnd::quit;
    });
}

} // namespace mrz::testpmd
