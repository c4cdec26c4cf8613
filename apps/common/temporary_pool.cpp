// SPDX-License-Identifier: BSD-3-Clause
#include "temporary_pool.hpp"

#include "output.hpp"
#include "signals.hpp"

#include <utility>

namespace mrz::app {

TemporaryPool::TemporaryPool(std::size_t page_size, std::optional<int> node, std::uint64_t pages_needed,
                             Effort effort, PoolMachine machine)
    : machine_{std::move(machine)}
{
    const auto missing = [&] {
        const std::uint64_t available = read_pool(page_size, node, machine_.root).available();
        return pages_needed > available ? pages_needed - available : 0;
    };
    if (missing() == 0)
        return;
    try {
        PoolChanges changes{machine_};
        // Read again: taking the lock may have given back what a killed program left.
        added_ = missing();
        if (added_ == 0)
            return;
        serial_ = changes.grow(page_size, node, added_, effort);
    } catch (const Error& error) {
        if (error.cause().trouble != Trouble::permission)
            throw;
        const Pool pool = read_pool(page_size, node, machine_.root);
        const PoolRequest enough{page_size, node, pool.total - pool.available() + pages_needed};
        throw Error{error.error_number(),
                    Cause{.trouble = Trouble::permission,
                          .what = fmt::format("{} {}", pages_needed, pool_name(page_size, node)),
                          .limit = "pages available in the pool, which only root may enlarge",
                          .present = pool.available(),
                          .need = pages_needed,
                          .remedy = fmt::format("run it as root, or try: sudo mrz pools set {}", to_string(enough))}};
    }
    say("added {} {} to the pool for now", added_, pool_name(page_size, node));
}

TemporaryPool::TemporaryPool(TemporaryPool&& other) noexcept
    : machine_{std::move(other.machine_)}, serial_{std::exchange(other.serial_, std::nullopt)}, added_{std::exchange(
                                                                                                    other.added_, 0)}
{
}

TemporaryPool::~TemporaryPool()
{
    if (!serial_)
        return;
    const HeldSignals held_signals;
    try {
        PoolChanges{machine_}.give_back(*serial_);
    } catch (const std::exception& error) {
        say("the pool could not be put back ({}); the next run of any mrz program tries again", error.what());
    }
}

} // namespace mrz::app
