// SPDX-License-Identifier: BSD-3-Clause
// mrz-testpmd: packet forwarding over arenas, driven as dpdk-testpmd is.
#include "options.hpp"
#include "prompt.hpp"
#include "reports.hpp"
#include "session.hpp"

#include "common/eal.hpp"
#include "common/output.hpp"
#include "common/pool_changes.hpp"
#include "common/process_limits.hpp"
#include "common/signals.hpp"
#include "common/standard_files.hpp"
#include "common/temporary_pool.hpp"

#include <mrzone/hugepage.hpp>

#include <algorithm>
#include <chrono>
#include <optional>
#include <string_view>
#include <unistd.h>

namespace mrz::testpmd {
namespace {

using Clock = std::chrono::steady_clock;

// What the EAL itself is made of.
std::optional<app::TemporaryPool> pages_for_eal(const Options& options)
{
    constexpr std::uint64_t pages = 48;
    if (!options.memory.may_add_pages)
        return std::nullopt;
    app::TemporaryPool pool{2_MiB, {}, pages};
    // The EAL itself would only say that there is no memory, not that a control group forbids it.
    Window::preflight({.size = 2_MiB, .page_size = 2_MiB});
    return pool;
}

// Between whatever else happens: ports that vanish, and statistics from time to time.
class Watch {
  public:
    Watch(Session& session, unsigned period) : session_{session}, period_{period} {}

    void look()
    {
        if (session_.any_vanished()) {
            if (session_.forwarding().running())
                app::print_text(forward_statistics(session_));
            try {
                session_.drop_vanished();
            } catch (const Error& error) { // nothing is left to forward
                app::say("{}", error.what());
            }
        }
        if (period_.count() == 0 || Clock::now() < next_)
            return;
        next_ = Clock::now() + period_;
        for (const Port& port : session_.ports())
            if (port.state() == Port::State::started)
                show(port);
    }

  private:
    // A device that does not tell its counters goes on forwarding.
    void show(const Port& port)
    {
        std::string text;
        try {
            text = statistics_.text(port);
        } catch (const Error& error) {
            app::say("{}", error.what());
            return;
        }
        app::print_text(text);
    }

    Session& session_;
    PortStatistics statistics_;
    std::chrono::seconds period_;
    Clock::time_point next_ = Clock::now() + period_;
};

// Until a signal, a line from a terminal, or until no port is left.
void run_headless(Session& session, Watch& watch)
{
    const bool terminal = ::isatty(STDIN_FILENO) != 0;
    if (terminal)
        app::print_text("Press enter to exit\n");
    while (app::pending_interrupt() == 0) {
        watch.look();
        if (!session.forwarding().running())
            throw Error{ENODEV, Cause{.trouble = Trouble::unsupported,
                                      .what = "forwarding",
                                      .limit = "no port is left",
                                      .remedy = "start the program again when there is one"}};
        if (app::wait_readable_or(terminal ? STDIN_FILENO : -1, std::chrono::seconds{1}))
            return;
    }
}

void stop(Session& session)
{
    if (!session.forwarding().running())
        return;
    session.stop_forwarding();
    app::print_text(forward_statistics(session));
}

void start(Session& session, bool tx_first)
{
    session.start_forwarding(tx_first ? 1 : 0);
    app::print_text(forward_configuration(session));
}

void forward(const Options& options)
{
    Session session{options};
    app::throw_if_interrupted();
    Watch watch{session, options.stats_period};
    // From here on a signal is an ordinary end: what there is to say is said, and all is taken apart.
    const std::function<void()> every_second = [&watch] { watch.look(); };
    PromptEnd end = PromptEnd::end_of_input;
    if (!options.command_file.empty())
        end = run_command_file(session, options.command_file);
    if (end == PromptEnd::end_of_input) {
        if ((options.auto_start || !options.interactive) && !session.forwarding().running())
            start(session, options.tx_first);
        if (options.interactive)
            run_prompt(session, every_second);
        else
            run_headless(session, watch);
    }
    stop(session);
}

void run(int argc, char** argv)
{
    const Options options = parse_options(argc, argv);
    if (options.text) {
        app::print_text(*options.text);
        return;
    }
    app::check_open_files(0);
    app::undo_what_a_kill_left();
    const auto pages = pages_for_eal(options);
    const bool leaves_nothing = std::ranges::find(options.eal, "--in-memory") != options.eal.end();
    const app::Eal eal{{.in_memory = leaves_nothing, .defaults = false, .arguments = options.eal}};
    forward(options);
}

} // namespace
} // namespace mrz::testpmd

int main(int argc, char** argv)
{
    mrz::app::occupy_standard_files();
    mrz::app::watch_signals();
    return mrz::app::run_and_report(false, [&] { mrz::testpmd::run(argc, argv); });
}
