// SPDX-License-Identifier: BSD-3-Clause
#include "output.hpp"

#include "exit_status.hpp"
#include "signals.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

namespace mrz::app {
namespace {

template <class T>
Json or_null(const std::optional<T>& value)
{
    return value ? Json(*value) : Json(nullptr);
}

} // namespace

void print_text(std::string_view text)
{
    errno = 0;
    if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0) {
        const int error_number = errno != 0 ? errno : EIO;
        throw Error{error_number, Cause{.trouble = Trouble::internal,
                                        .what = "writing the result to standard output",
                                        .limit = std::strerror(error_number),
                                        .remedy = "give standard output a place that takes it"}};
    }
}

void print_json(const Json& object)
{
    // Replaces what is not UTF-8 (a path may hold anything): an answer with a "?" is better than none.
    print_text(object.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
}

void say(std::string_view line)
{
    std::fprintf(stderr, "%s: %.*s\n", program_invocation_short_name, static_cast<int>(line.size()), line.data());
}

Json error_to_json(int error_number, const Cause& cause)
{
    return {{"schema", json_schema},
            {"error",
             {{"errno", error_number},
              {"what", cause.what},
              {"limit", cause.limit},
              {"value", or_null(cause.present)},
              {"need", or_null(cause.need)},
              {"remedy", cause.remedy}}}};
}

int report_error(bool json, int error_number, const Cause& cause) noexcept
try {
    say("{}", Error(error_number, cause).what());
    if (json)
        print_json(error_to_json(error_number, cause));
    return static_cast<int>(exit_status(cause.trouble));
} catch (...) {
    return static_cast<int>(ExitStatus::internal);
}

int run_and_report(bool json, const std::function<void()>& work) noexcept
{
    const auto interrupted = [json](int signal) {
        report_error(json, EINTR,
                     Cause{.trouble = Trouble::internal,
                           .what = "the work",
                           .limit = fmt::format("ended by signal {} ({})", signal, strsignal(signal)),
                           .remedy = "everything was undone; run it again"});
        return exit_status_of_signal(signal);
    };
    try {
        try {
            work();
            return static_cast<int>(ExitStatus::done);
        } catch (const Interrupted& interrupt) {
            return interrupted(interrupt.signal());
        } catch (const Error& error) {
            // A call that a signal cut short fails as if something were wrong.
            if (error.error_number() == EINTR && pending_interrupt() != 0)
                return interrupted(pending_interrupt());
            return report_error(json, error.error_number(), error.cause());
        } catch (const std::bad_alloc&) {
            return report_error(json, ENOMEM,
                                Cause{.what = "ordinary memory", .limit = "memory", .remedy = "free memory"});
        } catch (const std::exception& error) {
            return report_error(json, EIO,
                                Cause{.what = error.what(),
                                      .limit = "a fault of this program",
                                      .remedy = "report it with the command line"});
        }
    } catch (...) {
        return static_cast<int>(ExitStatus::internal);
    }
}

Table::Table(std::vector<std::string> headings)
{
    for (std::string& heading : headings) {
        right_.push_back(heading.starts_with('>'));
        if (right_.back())
            heading.erase(0, 1);
    }
    rows_.push_back(std::move(headings));
}

void Table::add(std::vector<std::string> cells)
{
    cells.resize(right_.size());
    rows_.push_back(std::move(cells));
}

std::string Table::text() const
{
    std::vector<std::size_t> widths(right_.size());
    for (const auto& row : rows_)
        for (std::size_t i = 0; i < row.size(); ++i)
            widths[i] = std::max(widths[i], row[i].size());
    std::string out;
    for (const auto& row : rows_) {
        std::string line;
        for (std::size_t i = 0; i < row.size(); ++i)
            line +=
                right_[i] ? fmt::format("{:>{}}  ", row[i], widths[i]) : fmt::format("{:<{}}  ", row[i], widths[i]);
        line.erase(line.find_last_not_of(' ') + 1);
        out += line + "\n";
    }
    return out;
}

} // namespace mrz::app
