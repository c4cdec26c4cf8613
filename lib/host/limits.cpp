// SPDX-License-Identifier: BSD-3-Clause
#include <mrzone/host.hpp>

#include "parse.hpp"

#include <linux/capability.h>

#include <string>
#include <utility>

namespace mrz::host {
namespace {

bool has(const Capabilities& capabilities, int bit)
{
    return capabilities.in_initial_namespace && capabilities.effective && (*capabilities.effective >> bit & 1) != 0;
}

// The initial user namespace has a number of its own (include/linux/proc_ns.h, PROC_USER_INIT_INO).
bool in_initial_user_namespace(const Root& root)
{
    std::error_code error;
    const auto name = std::filesystem::read_symlink(root("/proc/self/ns/user"), error);
    return error || name == "user:[4026531837]";
}

Limit to_limit(std::string_view word)
{
    if (word == "unlimited")
        return Limit::unlimited();
    const auto number = to_number(word);
    return number ? Limit::of(*number) : Limit::unknown();
}

std::optional<std::uint64_t> kilobyte_field(std::string_view text, std::string_view name)
{
    const auto value = field(text, name);
    return value ? kilobytes(*value) : std::nullopt;
}

} // namespace

bool Capabilities::ipc_lock() const noexcept
{
    return has(*this, CAP_IPC_LOCK);
}

bool Capabilities::sys_admin() const noexcept
{
    return has(*this, CAP_SYS_ADMIN);
}

Capabilities capabilities(const Root& root)
{
    Capabilities result;
    result.in_initial_namespace = in_initial_user_namespace(root);
    if (const auto status = root.text("/proc/self/status"))
        if (const auto mask = field(*status, "CapEff"))
            result.effective = to_number(*mask, 16);
    return result;
}

LockedMemory locked_memory(const Root& root)
{
    LockedMemory result;
    if (const auto limits = root.text("/proc/self/limits")) {
        static constexpr std::string_view name = "Max locked memory";
        for (const std::string_view line : lines(*limits)) {
            if (!line.starts_with(name))
                continue;
            const auto columns = words(line.substr(name.size()));
            if (columns.size() == 3 && columns[2] == "bytes") {
                result.soft = to_limit(columns[0]);
                result.hard = to_limit(columns[1]);
            }
        }
    }
    if (const auto status = root.text("/proc/self/status")) {
        result.locked = kilobyte_field(*status, "VmLck");
        result.pinned = kilobyte_field(*status, "VmPin");
    }
    result.exempt = capabilities(root).ipc_lock();
    return result;
}

bool surely_beyond(const LockedMemory& limit, std::uint64_t bytes) noexcept
{
    const std::optional<std::uint64_t> most = limit.soft.value();
    const std::uint64_t held = limit.pinned.value_or(0);
    return !limit.exempt && most && (held > *most || bytes > *most - held);
}

Cause locked_memory_too_small(const LockedMemory& limit, std::uint64_t bytes, std::string what)
{
    // More may count than this process sees, an adapter's own tables at least: then what is surely enough.
    constexpr std::uint64_t tables = 64 << 10;
    const std::uint64_t most = limit.soft.value().value_or(0);
    const std::uint64_t held = limit.pinned.value_or(0) + limit.locked.value_or(0);
    std::uint64_t need = held + bytes;
    if (need <= most)
        need = most + bytes;
    return {.trouble = Trouble::locked_memory,
            .what = std::move(what),
            .limit = "the locked-memory limit (RLIMIT_MEMLOCK; this process has " + format_size(held) +
                     " pinned or locked, and other processes of this user may count too), in bytes,",
            .present = most,
            .need = need,
            .remedy = "try: ulimit -l " + std::to_string((need + tables + 1023) / 1024) +
                      " (or LimitMEMLOCK= in the service's unit, or grant CAP_IPC_LOCK)"};
}

} // namespace mrz::host
