// SPDX-License-Identifier: BSD-3-Clause
// mrz-hca: a ConnectX as a process, a PCI device of a virtual machine whose mlx5 drivers are as they are.
#include "adapter.hpp"
#include "control/client.hpp"
#include "control/server.hpp"
#include "dma/memory.hpp"
#include "options.hpp"
#include "vfio_user/server.hpp"
#include "vfio_user/vectors.hpp"

#include "common/exit_status.hpp"
#include "common/output.hpp"
#include "common/signals.hpp"
#include "common/standard_files.hpp"

#include <mrzone/base.hpp>

#include <exception>
#include <optional>
#include <thread>

namespace mrz {
namespace {

//! All that the device says goes to standard error, by lines.
void say_log(Severity severity, std::string_view line)
{
    app::say("{}{}", severity == Severity::error ? "error: " : "", line);
}

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
        set_log_sink(say_log);
        serve(*options.serve);
    }
}

} // namespace
} // namespace mrz

int main(int argc, char** argv)
{
    using namespace mrz;
    app::occupy_standard_files();
    app::watch_signals();
    const int status = app::run_and_report(false, [&] { run(parse_options(argc, argv)); });
    // A device has no other end.
    return status == 0 && app::pending_interrupt() != 0 ? app::exit_status_of_signal(app::pending_interrupt())
                                                        : status;
}
