// SPDX-License-Identifier: BSD-3-Clause
#include "process_limits.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <sys/resource.h>

namespace mrz::app {

void check_open_files(std::uint64_t pages)
{
    // The EAL keeps one memory file a page; the rest is its own, the arena's and what a shell hands on.
    const std::uint64_t need = pages + 32;
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_max >= need)
        return;
    throw Error{EMFILE, Cause{.trouble = Trouble::invalid,
                              .what = pages > 0 ? fmt::format("an EAL with {} pages, a file each", pages)
                                                : std::string{"starting DPDK's EAL"},
                              .limit = "open files (RLIMIT_NOFILE, hard)",
                              .present = limit.rlim_max,
                              .need = need,
                              .remedy = fmt::format("as root, try: ulimit -n {}", need)}};
}

std::optional<Cause> limit_on_memory(std::string what)
{
    rlimit limit{};
    if (::getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
        return Cause{.trouble = Trouble::invalid,
                     .what = std::move(what),
                     .limit = "address space (RLIMIT_AS), bytes",
                     .present = limit.rlim_cur,
                     .remedy = "try: ulimit -v unlimited"};
    if (::getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
        return Cause{.trouble = Trouble::invalid,
                     .what = std::move(what),
                     .limit = "size of a file (RLIMIT_FSIZE), bytes",
                     .present = limit.rlim_cur,
                     .remedy = "try: ulimit -f unlimited"};
    return std::nullopt;
}

} // namespace mrz::app
