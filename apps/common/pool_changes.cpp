// SPDX-License-Identifier: BSD-3-Clause
#include "pool_changes.hpp"

#include "output.hpp"
#include "signals.hpp"
#include "size.hpp"

#include <algorithm>
#include <cerrno>
#include <fstream>

namespace mrz::app {
namespace {

// The size that was set. Surplus pages come and go on their own.
std::uint64_t persistent(const Pool& pool)
{
    return pool.total > pool.surplus ? pool.total - pool.surplus : 0;
}

std::vector<NodePages> present_pages(std::size_t page_size, const host::Root& root)
{
    std::vector<NodePages> out;
    for (const host::Node& node : host::nodes(root)) {
        try {
            out.push_back({node.id, persistent(read_pool(page_size, node.id, root))});
        } catch (const Error& error) {
            if (error.error_number() != ENOENT) // a kernel without NUMA has no folder for node 0
                throw;
        }
    }
    if (out.empty())
        out.push_back({std::nullopt, persistent(read_pool(page_size, {}, root))});
    return out;
}

void refuse_beyond_memory(const PoolRequest& request, std::uint64_t now, const host::Root& root)
{
    const auto available = host::memory_available(root);
    if (!available || request.pages <= now || request.pages - now <= *available / request.page_size)
        return;
    // Asked all the same, the kernel would push out everything else first and then give less.
    const PoolRequest possible{request.page_size, request.node, now + *available / request.page_size * 3 / 4};
    throw Error{ENOMEM, Cause{.trouble = Trouble::hugepages,
                              .what = fmt::format("{} {}", request.pages, pool_name(request.page_size, request.node)),
                              .limit = "memory available for more pages (MemAvailable of /proc/meminfo), bytes",
                              .present = *available,
                              .need = (request.pages - now) * request.page_size,
                              .remedy = fmt::format("ask for less, or free memory; try: mrz pools set {}",
                                                    to_string(possible))}};
}

Error short_of_pages(const PoolRequest& asked, const Pool& obtained)
{
    const PoolRequest possible{asked.page_size, asked.node, persistent(obtained)};
    return Error{ENOMEM,
                 Cause{.trouble = Trouble::hugepages,
                       .what = fmt::format("{} {}", asked.pages, pool_name(asked.page_size, asked.node)),
                       .limit = "hugepages that the kernel could make; memory is in use or fragmented",
                       .present = persistent(obtained),
                       .need = asked.pages,
                       .remedy = fmt::format("free memory, or reserve at boot (hugepagesz={} hugepages={}); "
                                             "try: mrz pools set {}",
                                             size_argument(asked.page_size), asked.pages, to_string(possible))}};
}

} // namespace

PoolChanges::PoolChanges(PoolMachine machine) : machine_{std::move(machine)}, journal_{machine_.run_dir}
{
    undo_abandoned();
}

void PoolChanges::undo_abandoned()
{
    const HeldSignals held_signals;
    // Under the lock no other change can be under way, so whatever looks so was abandoned.
    const auto abandoned = [](const OwnedChange& change) {
        return change.state == OwnedChange::State::changing || !change.owner.alive();
    };
    for (auto found = std::ranges::find_if(journal_.owned, abandoned); found != journal_.owned.end();
         found = std::ranges::find_if(journal_.owned, abandoned)) {
        const OwnedChange change = *found;
        say("{} (process {}) ended without undoing its change of the {}; undoing it", change.command,
            change.owner.pid, pool_name(change.page_size, {}));
        if (change.state == OwnedChange::State::changing) {
            const auto steps = go_to(change.page_size, change.nodes);
            undone_.insert(undone_.end(), steps.begin(), steps.end());
            journal_.erase_undone(change.serial);
            journal_.save();
        } else {
            undone_.push_back(give_back(change.serial));
        }
    }
}

std::uint64_t PoolChanges::held(std::size_t page_size, std::optional<int> node) const
{
    std::uint64_t pages = 0;
    for (const OwnedChange& change : journal_.owned)
        if (change.state == OwnedChange::State::held && change.page_size == page_size)
            for (const NodePages& entry : change.nodes)
                if (!node || entry.node == node)
                    pages += entry.pages;
    return pages;
}

std::vector<PoolStep> PoolChanges::go_to(std::size_t page_size, const std::vector<NodePages>& nodes)
{
    const HeldSignals held_signals;
    std::vector<PoolStep> steps;
    for (const NodePages& entry : nodes) {
        // A pool that is so already is not written to: undoing what could not be done must not fail as well.
        const Pool now = read_pool(page_size, entry.node, machine_.root);
        const PoolChange change = persistent(now) == entry.pages
                                      ? PoolChange{.before = now, .asked = entry.pages, .after = now}
                                      : resize_pool(page_size, entry.node, entry.pages, machine_.root);
        steps.push_back({.page_size = page_size,
                         .node = entry.node,
                         .before = persistent(change.before),
                         .asked = entry.pages,
                         .obtained = persistent(change.after),
                         .in_use_beyond = change.after.surplus});
    }
    return steps;
}

std::uint64_t PoolChanges::begin_change(std::size_t page_size)
{
    const std::uint64_t serial = journal_.next_serial();
    journal_.owned.push_back({.owner = ProcessId::self(),
                              .command = program_invocation_short_name,
                              .serial = serial,
                              .page_size = page_size,
                              .state = OwnedChange::State::changing,
                              .nodes = present_pages(page_size, machine_.root)});
    journal_.save();
    return serial;
}

void PoolChanges::cancel_change(std::uint64_t serial)
{
    const HeldSignals held_signals;
    if (const OwnedChange* const change = journal_.find(serial))
        go_to(change->page_size, change->nodes);
    journal_.erase_undone(serial);
    journal_.save();
}

PoolChange PoolChanges::resize(const PoolRequest& request, Effort effort)
{
    PoolChange change = resize_pool(request.page_size, request.node, request.pages, machine_.root);
    if (effort == Effort::compact && persistent(change.after) < request.pages && pending_interrupt() == 0) {
        say("the kernel gave {} of {} {}; asking it to compact memory, and once more", persistent(change.after),
            request.pages, pool_name(request.page_size, request.node));
        std::ofstream{machine_.root("/proc/sys/vm/compact_memory")} << "1" << std::flush;
        const Pool before = change.before;
        change = resize_pool(request.page_size, request.node, request.pages, machine_.root);
        change.before = before;
    }
    throw_if_interrupted();
    if (persistent(change.after) < request.pages)
        throw short_of_pages(request, change.after);
    return change;
}

PoolStep PoolChanges::preview(const PoolRequest& request, const PoolMachine& machine)
{
    const std::uint64_t before = persistent(read_pool(request.page_size, request.node, machine.root));
    refuse_beyond_memory(request, before, machine.root);
    return {.page_size = request.page_size, .node = request.node, .before = before, .asked = request.pages};
}

PoolStep PoolChanges::set(const PoolRequest& request)
{
    const PoolStep plan = preview(request, machine_);
    const std::uint64_t on_top = held(request.page_size, request.node);
    if (on_top > 0)
        say("{} more are held by running programs, and leave with them", on_top);

    const bool first =
        std::ranges::find(journal_.sets, request.page_size, &SetRecord::page_size) == journal_.sets.end();
    if (first) {
        SetRecord record{.page_size = request.page_size,
                         .before = present_pages(request.page_size, machine_.root),
                         .made_by = journal_.next_serial()};
        for (NodePages& entry : record.before)
            entry.pages -= std::min(entry.pages, held(request.page_size, entry.node));
        journal_.sets.push_back(std::move(record));
    }
    const std::uint64_t target = request.pages + on_top;
    const std::uint64_t serial = journal_.next_serial();
    PoolChange change;
    try {
        begin_change(request.page_size);
        if (request.page_size == 2_MiB && target > plan.before)
            add_gigabytes(request.node, target - plan.before);
        change = resize({request.page_size, request.node, target}, Effort::compact);
    } catch (...) {
        cancel_change(serial); // and so forgets the record
        throw;
    }
    journal_.erase_done(serial);
    journal_.save();
    return {.page_size = request.page_size,
            .node = request.node,
            .before = plan.before,
            .asked = request.pages,
            .obtained = persistent(change.after) - std::min(persistent(change.after), on_top),
            .in_use_beyond = change.after.surplus};
}

std::vector<PoolStep> PoolChanges::restore()
{
    const HeldSignals held_signals;
    std::vector<PoolStep> all;
    while (!journal_.sets.empty()) {
        const SetRecord record = journal_.sets.back();
        std::vector<NodePages> target = record.before;
        for (NodePages& entry : target)
            entry.pages += held(record.page_size, entry.node);
        for (const PoolStep& step : go_to(record.page_size, target)) {
            if (step.obtained < step.asked)
                throw short_of_pages({step.page_size, step.node, step.asked},
                                     read_pool(step.page_size, step.node, machine_.root));
            all.push_back(step);
        }
        journal_.sets.pop_back();
        journal_.save();
    }
    return all;
}

void PoolChanges::add_gigabytes(std::optional<int> node, std::uint64_t pages)
{
    const std::uint64_t gigabytes = pages / (1_GiB / 2_MiB);
    const std::vector<std::size_t> sizes = hugepage_sizes(machine_.root);
    if (gigabytes == 0 || std::ranges::find(sizes, 1_GiB) == sizes.end())
        return;
    // The pool of 1-GiB pages changes on the way, and a kill in between is to be undone, too.
    const std::uint64_t serial = begin_change(1_GiB);
    try {
        add_whole_gigabytes(gigabytes, node, machine_.root);
    } catch (const Error& error) {
        say("no whole gigabytes are to be had ({}); taking pages as they come", error.what());
    }
    cancel_change(serial);
}

std::uint64_t PoolChanges::unclaimed(std::size_t page_size, std::optional<int> node) const
{
    std::uint64_t claimed = 0;
    for (const OwnedChange& change : journal_.owned)
        if (change.state == OwnedChange::State::held && change.page_size == page_size &&
            change.owner != ProcessId::self() && (!node || !change.claim.node || change.claim.node == node))
            claimed += change.claim.pages;
    const std::uint64_t available = read_pool(page_size, node, machine_.root).available();
    return available > claimed ? available - claimed : 0;
}

std::optional<Growth> PoolChanges::grow(std::size_t page_size, std::optional<int> node, std::uint64_t needed,
                                        Effort effort)
{
    const std::uint64_t there = unclaimed(page_size, node);
    if (there >= needed)
        return std::nullopt;
    const std::uint64_t pages = needed - there;
    const std::uint64_t now = persistent(read_pool(page_size, node, machine_.root));
    const PoolRequest request{page_size, node, now + pages};
    refuse_beyond_memory(request, now, machine_.root);

    const std::uint64_t serial = begin_change(page_size);
    try {
        if (page_size == 2_MiB)
            add_gigabytes(node, pages);
        resize(request, effort);
        OwnedChange& change = *journal_.find(serial);
        const std::vector<NodePages> after = present_pages(page_size, machine_.root);
        for (std::size_t i = 0; i < change.nodes.size() && i < after.size(); ++i)
            change.nodes[i].pages = after[i].pages - std::min(after[i].pages, change.nodes[i].pages);
        change.state = OwnedChange::State::held;
        change.claim = {node, needed};
        journal_.save();
    } catch (...) {
        cancel_change(serial);
        throw;
    }
    return Growth{serial, pages};
}

PoolStep PoolChanges::give_back(std::uint64_t serial)
{
    const HeldSignals held_signals;
    OwnedChange* const change = journal_.find(serial);
    if (change == nullptr)
        return {};
    // First what the pool is to become, so that a kill in between does not make the next run take pages away twice.
    std::vector<NodePages> target = present_pages(change->page_size, machine_.root);
    PoolStep sum;
    sum.page_size = change->page_size;
    for (NodePages& entry : target) {
        const auto added = std::ranges::find(change->nodes, entry.node, &NodePages::node);
        if (added != change->nodes.end())
            entry.pages -= std::min(entry.pages, added->pages);
    }
    change->state = OwnedChange::State::changing;
    change->nodes = target;
    journal_.save();
    for (const PoolStep& step : go_to(sum.page_size, target)) {
        sum.before += step.before;
        sum.asked += step.asked;
        sum.obtained += step.obtained;
        sum.in_use_beyond += step.in_use_beyond;
    }
    journal_.erase_done(serial);
    journal_.save();
    return sum;
}

std::vector<PoolStep> undo_what_a_kill_left(const PoolMachine& machine)
{
    if (!PoolJournal::exists(machine.run_dir))
        return {};
    try {
        return PoolChanges{machine}.undone();
    } catch (const Error& error) {
        if (error.cause().trouble != Trouble::permission)
            throw;
        say("what a killed program may have left in the page pools was not looked at: {}", error.what());
        return {};
    }
}

std::uint64_t unclaimed_pages(std::size_t page_size, std::optional<int> node, const PoolMachine& machine)
{
    // In this order: whatever another program adds in between is not counted.
    const std::uint64_t available = read_pool(page_size, node, machine.root).available();
    if (!PoolJournal::exists(machine.run_dir))
        return available;
    try {
        return PoolChanges{machine}.unclaimed(page_size, node);
    } catch (const Error& error) {
        if (error.cause().trouble != Trouble::permission)
            throw;
        return available;
    }
}

} // namespace mrz::app
