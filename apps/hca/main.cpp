// SPDX-License-Identifier: BSD-3-Clause
// mrz-hca: a ConnectX as a process, a PCI device of a virtual machine whose mlx5 drivers are as they are.
#include "adapter.hpp"
#include "control/client.hpp"
#include "control/server.hpp"
#include "dma/memory.hpp"
#include "line_limit.hpp"
#include "options.hpp"
#include "vfio_user/server.hpp"
#include "vfio_user/vectors.hpp"

#include "common/exit_status.hpp"
#include "common/output.hpp"
#include "common/signals.hpp"
#include "common/standard_files.hpp"

#include <mrzone/base.hpp>

#include <cstdint>
#include <exception>
#include <optional>
#include <string_view>
#include <thread>

namespace mrz {
namespace {

//! All that the device says goes to standard error, by lines, of which there are not too many.
class Said {
  public:
    Said()
    {
        set_log_sink([this](Severity severity, std::string_view line) { say(severity, line); });
    }
    ~Said()
    {
        set_log_sink({});
        if (const std::uint64_t untold = limit_.untold(); untold != 0)
            app::say("{} lines were left out", untold);
    }
    Said(const Said&) = delete;
    Said& operator=(const Said&) = delete;

  private:
    void say(Severity severity, std::string_view line)
    {
        const std::optional<std::uint64_t> left_out = limit_.admits(line, LineLimit::Clock::now());
        if (!left_out)
            return;
        if (*left_out != 0)
            app::say("{} lines like the next were left out", *left_out);
        app::say("{}{}", severity == Severity::error ? "error: " : "", line);
    }

    LineLimit limit_;
};

//! Until a signal comes.
void serve(const ServeOptions& options)
{
    dma::Memory memory;
    vfio_user::Vectors vectors{options.adapter.settings.vectors};
    sockets::Stop stop;
    sockets::Stop ended;
    std::exception_ptr failure;
    std::thread transport;
    control::Commands commands;
    std::optional<Adapter> adapter;
    std::optional<vfio_user::Server> server;
    std::optional<control::Server> control;
    {
        // Signals are for this thread, which waits for them; the others inherit that they are blocked.
        const app::HeldSignals held;
        adapter.emplace(options.adapter, memory, vectors);
        adapter->add_to(commands);
        server.emplace(options.socket,
                       vfio_user::Served{
                           .device = *adapter,
                           .memory = memory,
                           .vectors = vectors,
                           .exclusively = [&](const std::function<void()>& change) { adapter->exclusively(change); },
                           .config_bytes = pci::ConfigSpace::bytes,
                           .bar_bytes = options.adapter.settings.bar_bytes});
        if (options.control)
            control.emplace(*options.control, commands);
        transport = std::thread{[&] {
            try {
                server->run(stop);
            } catch (...) {
                failure = std::current_exception();
            }
            ended.set();
        }};
    }
    app::say("listening at {}", options.socket);
    try {
        app::wait_readable(ended.descriptor());
    } catch (const app::Interrupted&) {
        app::say("interrupted");
    }
    control.reset();
    stop.set();
    transport.join();
    if (failure)
        std::rethrow_exception(failure);
}

void run(const Options& options)
{
    if (options.text) {
        app::print_text(*options.text);
    } else if (options.ask) {
        app::print_json(control::ask(options.ask->path, control::request_of(options.ask->words)));
    } else {
        app::watch_signals();
        const Said said;
        serve(*options.serve);
    }
}

} // namespace
} // namespace mrz

int main(int argc, char** argv)
{
    using namespace mrz;
    app::occupy_standard_files();
    // Who asks has nothing to tidy up, and may wait for an answer that never comes.
    app::ignore_signals_of_output();
    const int status = app::run_and_report(false, [&] { run(parse_options(argc, argv)); });
    // A device has no other end.
    return status == 0 && app::pending_interrupt() != 0 ? app::exit_status_of_signal(app::pending_interrupt())
                                                        : status;
}
