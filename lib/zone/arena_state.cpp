// SPDX-License-Identifier: BSD-3-Clause
#include "arena_state.hpp"

#include <rte_config.h>
#include <rte_memzone.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace mrz {
namespace {

bool contains(const Window& window, const void* address)
{
    const auto* byte = static_cast<const std::byte*>(address);
    return std::less_equal<>{}(window.address(), byte) && std::less<>{}(byte, window.address() + window.length());
}

struct Tenants {
    std::span<const Window> windows;
    unsigned count = 0;
    std::string names;
};

void note_tenant(const rte_memzone* memzone, void* context)
{
    auto& tenants = *static_cast<Tenants*>(context);
    if (std::ranges::none_of(tenants.windows, [&](const Window& window) { return contains(window, memzone->addr); }))
        return;
    if (++tenants.count <= 8)
        tenants.names += (tenants.count == 1 ? " " : ", ") + std::string{memzone->name};
}

//! "memzones a, b and 3 other blocks"
std::string name_tenants(std::span<const Window> windows, unsigned allocations)
{
    Tenants tenants{.windows = windows, .count = 0, .names = {}};
    rte_memzone_walk(note_tenant, &tenants);
    std::string text;
    if (tenants.count > 0)
        text = "memzones" + tenants.names + (tenants.count > 8 ? ", …" : "");
    if (allocations > tenants.count)
        text += (text.empty() ? "" : " and ") + std::to_string(allocations - tenants.count) + " rte_malloc blocks";
    return text;
}

void keep_until_exit(std::deque<WindowRegions> regions)
{
    // Still reachable, so that no leak is seen where none is meant.
    static std::mutex mutex;
    static auto& kept = *new std::deque<WindowRegions>;
    const std::lock_guard lock{mutex};
    for (WindowRegions& window_regions : regions)
        kept.push_back(std::move(window_regions));
}

[[noreturn]] void refuse_to_close(const std::string& name, std::string limit, std::uint64_t present,
                                  std::string remedy)
{
    throw Error{EBUSY,
                {.trouble = Trouble::busy,
                 .what = "cannot close the arena \"" + name + '"',
                 .limit = std::move(limit),
                 .present = present,
                 .need = 0,
                 .remedy = std::move(remedy)}};
}

} // namespace

Arena::State::State(std::string arena_name, Heap::Role role, std::vector<Domain> arena_domains)
    : name{std::move(arena_name)}, domains{std::move(arena_domains)}, heap{std::in_place, name, role},
      socket_id{heap->socket_id()}
{
    if (role == Heap::Role::owner)
        offer.emplace(name);
}

Arena::State::~State()
{
    listed.reset();
    if (!is_ours()) {
        // What this process has of the windows goes; the heap and the pages are the parent's.
        if (heap)
            heap->leave();
        return;
    }
    try {
        dismantle();
    } catch (const std::exception& busy) {
        // Memory in use is never pulled away: it stays until the process ends.
        log(Severity::warning, std::string{busy.what()} + "; its memory is kept until the process ends");
        for (Window& window : windows)
            window.abandon();
        keep_until_exit(std::move(regions)); // a device may use what DPDK uses
        // A secondary's windows stay mapped, so the primary must not think it gone: its attachments stay open as
        // well.
        for (Attachment& attachment : attachments)
            attachment.release();
        if (heap)
            heap->leave();
    }
}

void Arena::State::add(Window window, WindowRegions window_regions)
{
    // Room first: once the heap has the window, nothing may fail.
    windows.reserve(windows.size() + 1);
    regions.push_back(std::move(window_regions));
    try {
        if (offer)
            offer->make_room(windows.size() + 1);
        const auto start = std::chrono::steady_clock::now();
        ports.prepare(window);
        heap->add(window);
        heap_time += std::chrono::steady_clock::now() - start;
    } catch (...) {
        ports.withdraw(window);
        regions.pop_back();
        throw;
    }
    windows.push_back(std::move(window));
    try {
        ports.add(windows.back()); // which DPDK allows for memory of a heap only
    } catch (...) {
        if (take_back_last()) {
            regions.pop_back();
            windows.pop_back();
        } else if (offer) {
            offer->publish(windows);
        }
        throw;
    }
    if (offer)
        offer->publish(windows);
}

bool Arena::State::take_back_last() noexcept
try {
    ports.withdraw(windows.back());
    heap->remove(windows.back());
    return true;
} catch (const std::exception& busy) {
    ports.put_back(windows.back());
    log(Severity::warning, std::string{busy.what()} + ": it is in use already, and stays, unknown to ports");
    return false;
}

void Arena::State::dismantle()
{
    if (!heap)
        return;
    if (heap->eal_is_gone()) {
        log_once(Severity::warning, "an arena outlived rte_eal_cleanup(); close arenas before it");
        heap->leave();
        regions.clear();
        windows.clear();
        attachments.clear();
        offer.reset();
        heap.reset();
        return;
    }
    if (const std::size_t alive = zones; alive > 0 && !offer)
        refuse_to_close(name, "number of zones of this process that live in it", alive, "destroy them first");
    if (offer) {
        // Checked before anything is taken apart, so that a refusal changes nothing.
        if (const unsigned allocations = heap->allocations(); allocations > 0)
            refuse_to_close(name, "number of blocks allocated from it (" + name_tenants(windows, allocations) + ')',
                            allocations, "free them first (rte_mempool_free, rte_memzone_free, rte_free)");
        if (const std::size_t attached = offer->withdraw(); attached > 0)
            refuse_to_close(name, "number of its windows that secondary processes map", attached,
                            "let them close the arena first");
    }
    while (!windows.empty()) {
        ports.remove(windows.back());
        try {
            heap->remove(windows.back());
        } catch (...) {
            // Somebody allocated meanwhile: what is left is still a whole arena.
            if (offer)
                offer->publish(windows);
            try {
                ports.add(windows.back());
            } catch (const std::exception& error) { // the refusal to close says more
                log(Severity::warning, error.what());
            }
            throw;
        }
        regions.pop_back();
        windows.pop_back();
        if (!attachments.empty())
            attachments.pop_back();
    }
    offer.reset();
    heap.reset();
}

void Arena::State::require_ours() const
{
    if (!is_ours())
        throw Error{ENOTSUP,
                    {.trouble = Trouble::unsupported,
                     .what = "the arena \"" + name + "\" belongs to process " + std::to_string(owner) +
                             ", which forked this one",
                     .limit = "",
                     .remedy = "use it in that process, or attach it in a secondary process of the EAL"}};
}

void Arena::State::require_open() const
{
    require_ours();
    if (!heap)
        throw Error{EBADF,
                    {.trouble = Trouble::invalid,
                     .what = "the arena \"" + name + "\" is closed",
                     .limit = "",
                     .remedy = "build it anew"}};
}

void Arena::State::refresh()
{
    if (offer)
        return; // a primary has all its windows
    const std::size_t there = count_shared_windows(name);
    while (windows.size() < there) {
        SharedWindow shared = map_shared_window(name, windows.size());
        attachments.reserve(attachments.size() + 1);
        WindowRegions shared_regions = register_window(shared.window, domains);
        add(std::move(shared.window), std::move(shared_regions));
        attachments.push_back(std::move(shared.attachment));
    }
}

ArenaSnapshot Arena::State::snapshot(std::uint64_t own_number) const
{
    require_ours();
    const std::lock_guard lock{mutex};
    ArenaSnapshot now{.number = own_number,
                      .name = name,
                      .socket_id = socket_id,
                      .closed = !heap.has_value(),
                      .windows = windows.size(),
                      .zones = zones};
    for (const Window& window : windows) {
        now.node = window.map().node;
        now.page_size = window.map().page_size;
        now.bytes += window.block().size();
        now.frames_known = now.frames_known && window.frames_known();
    }
    now.domains.reserve(domains.size());
    for (std::size_t i = 0; i < domains.size(); ++i) {
        now.domains.push_back({.domain = domains[i].number()});
        for (const WindowRegions& of_window : regions)
            of_window.count(i, now.domains.back().regions);
    }
    return now;
}

std::size_t Arena::State::number_of(const Domain& domain) const
{
    const auto found = std::ranges::find(domains, domain);
    if (found == domains.end())
        throw Error{EINVAL,
                    {.trouble = Trouble::invalid,
                     .what = "the arena \"" + name + "\" has no keys in a domain of " + domain.name(),
                     .limit = "domains that it was built with",
                     .present = domains.size(),
                     .remedy = "name the domain where the arena is built (option domains) or attached"}};
    return static_cast<std::size_t>(found - domains.begin());
}

} // namespace mrz
