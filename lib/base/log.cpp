// SPDX-License-Identifier: BSD-3-Clause
#include <mrzone/base.hpp>

#include <cstdio>
#include <mutex>
#include <set>

namespace mrz {
namespace {

void to_standard_error(Severity severity, std::string_view line)
{
    if (severity == Severity::info)
        return;
    std::fprintf(stderr, "mrzone: %s%.*s\n", severity == Severity::error ? "error: " : "",
                 static_cast<int>(line.size()), line.data());
}

struct Log {
    std::mutex mutex;
    LogSink sink = to_standard_error;
    std::set<std::string, std::less<>> said;
};

// Never destroyed: other static objects may still speak while the process ends.
Log& the_log()
{
    static Log& instance = *new Log;
    return instance;
}

} // namespace

void set_log_sink(LogSink sink)
{
    Log& the = the_log();
    const std::lock_guard lock{the.mutex};
    the.sink = sink ? std::move(sink) : to_standard_error;
}

void log(Severity severity, std::string_view line) noexcept
try {
    Log& the = the_log();
    LogSink sink;
    {
        const std::lock_guard lock{the.mutex};
        sink = the.sink;
    }
    // Called without the lock, so that a sink may itself log or replace the sink.
    sink(severity, line);
} catch (...) { // NOLINT(bugprone-empty-catch): a line that cannot be said must not stop who says it
}

void log_once(Severity severity, std::string_view line) noexcept
try {
    Log& the = the_log();
    {
        const std::lock_guard lock{the.mutex};
        if (!the.said.emplace(line).second)
            return;
    }
    log(severity, line);
} catch (...) { // NOLINT(bugprone-empty-catch)
}

} // namespace mrz
