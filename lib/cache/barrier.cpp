// SPDX-License-Identifier: BSD-3-Clause
#include "barrier.hpp"

#include <mrzone/base.hpp>

#include <cerrno>
#include <cstring>
#include <mutex>
#include <string>

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace mrz::cache {
namespace {

#if defined(__SANITIZE_THREAD__)
constexpr bool may_be_one_sided = false; // ThreadSanitizer knows nothing of membarrier
#else
constexpr bool may_be_one_sided = true;
#endif

long membarrier(int command) noexcept
{
    return ::syscall(SYS_membarrier, command, 0, 0);
}

} // namespace

bool one_sided = false;

void prepare_barrier()
{
    if (!may_be_one_sided)
        return;
    static std::once_flag decided;
    // Registering twice costs nothing; a child of fork() may have to.
    const bool registered = membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) == 0;
    const int error = errno;
    std::call_once(decided, [&] { one_sided = registered; });
    if (one_sided && !registered)
        throw Error{
            error,
            {.trouble = Trouble::permission,
             .what = "making a cache",
             .limit = std::string{"membarrier worked before, and now: "} + std::strerror(error),
             .remedy = "allow membarrier(2) (a seccomp profile), or forbid it before the first cache is made"}};
}

bool everybody_published() noexcept
{
    if (!one_sided || membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) == 0)
        return true;
    log_once(Severity::error,
             "cache: membarrier worked before and is refused now (a seccomp profile?): no region can "
             "be given up any more");
    return false;
}

} // namespace mrz::cache
