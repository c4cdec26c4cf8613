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

// What the EAL itself, and native pools, are made of. Only for an EAL that leaves no files: others keep their pages.
std::optional<app::TemporaryPool> pages_for_eal(const Options& options)
{
    const auto& given = options.eal;
    if (std::ranges::find(given, "--in-memory") == given.end() ||
        std::ranges::find(given, "--no-huge") != given.end())
        return std::nullopt;
    constexpr std::size_t page = 2_MiB;
    constexpr std::uint64_t own = 48;
    const std::uint64_t buffer = options.memory.buffer_size + 384U;
    const std::uint64_t native =
        options.memory.kind == PoolKind::native ? options.memory.buffers * buffer / page + 1 : 0;
    // The EAL itself would only say that there is no memory: neither that a control group forbids it, nor that it may
    // not open a file for each page.
    if (native > 0 && std::ranges::find(given, "--single-file-segments") == given.end())
        app::check_open_files(native);
    app::TemporaryPool pages{page, {}, own + native};
    Window::preflight({.size = (native + 1) * page, .page_size = page});
    return pages;
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
            session_.drop_vanished();
        }
        if (period_.count() == 0 || Clock::now() < next_)
            return;
        next_ = Clock::now() + period_;
        for (const Port& port : session_.ports())
            if (port.state() == Port::State::started)
                app::print_text(statistics_.text(port));
    }

  private:
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
    const app::Eal eal{{.in_memory = pages.has_value(), .defaults = false, .arguments = options.eal}};
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
