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
    // Unless another program has enlarged a pool, and so has a claim, there is no need for the journal.
    if (read_pool(page_size, node, machine_.root).available() >= pages_needed &&
        !PoolJournal::exists(machine_.run_dir))
        return;
    try {
        const auto growth = PoolChanges{machine_}.grow(page_size, node, pages_needed, effort);
        if (!growth)
            return;
        serial_ = growth->serial;
        added_ = growth->pages;
    } catch (const Error& error) {
        if (error.cause().trouble != Trouble::permission)
            throw;
        const Pool pool = read_pool(page_size, node, machine_.root);
        if (pool.available() >= pages_needed) // who may not see claims takes what there is
            return;
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
