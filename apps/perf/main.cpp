// SPDX-License-Identifier: BSD-3-Clause
// mrz-perf: RDMA operations between two processes, over any driver, measured as perftest does.
#include "options.hpp"

#include "common/exit_status.hpp"
#include "common/output.hpp"
#include "common/pool_changes.hpp"
#include "common/signals.hpp"
#include "common/standard_files.hpp"

#include <algorithm>
#include <cerrno>
#include <string_view>

namespace mrz::perf {
namespace {

[[noreturn]] void throw_not_refused()
{
    throw Error{EBADMSG,
                {.trouble = Trouble::data,
                 .what = "trying what keys refuse",
                 .limit = "not all ended as it must",
                 .remedy = "report it, with the table and the server's device"}};
}

void run_client(const ClientOptions& options, Unit unit, bool json)
{
    const ClientReport report = measure(
        options,
        [&](const ClientReport& known) {
            if (!json)
                app::print_text(head_text(options, known, unit));
        },
        [&](std::span<const Row> rows) {
            if (!json)
                app::print_text(rows_text(options, rows, unit));
        });
    if (json)
        app::print_json(report_json(options, report));
    else
        app::print_text(tail_text(options, report));
    if (!all_as_wanted(report.trials))
        throw_not_refused();
}

void run(const Options& options)
{
    if (options.text) {
        app::print_text(*options.text);
        return;
    }
    app::undo_what_a_kill_left();
    if (options.server)
        serve(*options.server);
    else
        run_client(*options.client, options.unit, options.json);
}

} // namespace
} // namespace mrz::perf

int main(int argc, char** argv)
{
    using namespace mrz;
    app::occupy_standard_files();
    app::watch_signals();
    // Known before the rest is understood: what is wrong with that is said in the same way.
    const bool json = std::any_of(argv + 1, argv + argc, [](std::string_view word) { return word == "--json"; });
    bool client = false;
    const int status = app::run_and_report(json, [&] {
        const perf::Options options = perf::parse_options(argc, argv);
        client = options.client.has_value();
        perf::run(options);
    });
    // A measurement that was cut short has ended well, with what there was; a script must see the difference.
    if (status == 0 && client && app::pending_interrupt() != 0)
        return app::exit_status_of_signal(app::pending_interrupt());
    return status;
}
