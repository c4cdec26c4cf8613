// SPDX-License-Identifier: BSD-3-Clause
#include "process_id.hpp"

#include <mrzone/host.hpp>

#include <fmt/format.h>

#include <sstream>
#include <unistd.h>

namespace mrz::app {
namespace {

struct Stat {
    char state = 'X';
    std::uint64_t start_time = 0;
};

// proc(5): the second field is the name in parentheses, and may itself hold spaces and parentheses.
std::optional<Stat> read_stat(pid_t pid)
{
    const auto text = host::Root{}.text(fmt::format("/proc/{}/stat", pid));
    if (!text)
        return std::nullopt;
    const auto name_end = text->rfind(')');
    if (name_end == std::string::npos)
        return std::nullopt;
    std::istringstream fields{text->substr(name_end + 1)};
    Stat stat;
    fields >> stat.state;
    std::string skipped;
    for (int field = 4; field < 22; ++field)
        fields >> skipped;
    fields >> stat.start_time;
    return fields ? std::optional{stat} : std::nullopt;
}

} // namespace

ProcessId ProcessId::self()
{
    const pid_t pid = getpid();
    const auto stat = read_stat(pid);
    return {pid, stat ? stat->start_time : 0};
}

bool ProcessId::alive() const
{
    const auto stat = read_stat(pid);
    return stat && stat->start_time == start_time && stat->state != 'Z' && stat->state != 'X';
}

} // namespace mrz::app
