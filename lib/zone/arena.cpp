// SPDX-License-Identifier: BSD-3-Clause
#include <mrzone/zone.hpp>

#include "arena_state.hpp"
#include "dpdk.hpp"

#include <rte_config.h>
#include <rte_memzone.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <utility>

namespace mrz {
namespace {

WindowOptions window_options(const ArenaOptions& options, std::size_t size)
{
    return {.size = size,
            .page_size = options.page_size,
            .node = options.node,
            .threads = options.threads,
            .surplus = options.surplus,
            .limits = options.limits ? *options.limits : limits_for(options.domains),
            .plan = options.plan,
            .progress = options.progress};
}

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
        // A secondary's windows stay mapped, so the primary must not think it gone: its leases stay open as well.
        for (Lease& lease : leases)
            lease.release();
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
        heap->add(window);
        heap_time += std::chrono::steady_clock::now() - start;
    } catch (...) {
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
    heap->remove(windows.back());
    return true;
} catch (const std::exception& busy) {
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
        leases.clear();
        offer.reset();
        heap.reset();
        return;
    }
    if (const std::size_t alive = zones; alive > 0 && !offer)
        refuse_to_close(name, "zones of this process that live in it", alive, "destroy them first");
    if (offer) {
        // Checked before anything is taken apart, so that a refusal changes nothing.
        if (const unsigned allocations = heap->allocations(); allocations > 0)
            refuse_to_close(name, "blocks allocated from it (" + name_tenants(windows, allocations) + ')',
                            allocations, "free them first (rte_mempool_free, rte_memzone_free, rte_free)");
        if (const std::size_t attached = offer->withdraw(); attached > 0)
            refuse_to_close(name, "windows mapped by secondary processes", attached,
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
        if (!leases.empty())
            leases.pop_back();
    }
    offer.reset();
    heap.reset();
}

void Arena::State::require_open() const
{
    if (!is_ours())
        throw Error{ENOTSUP,
                    {.trouble = Trouble::unsupported,
                     .what = "the arena \"" + name + "\" belongs to process " + std::to_string(owner) +
                             ", which forked this one",
                     .limit = "",
                     .remedy = "use it in that process, or attach it in a secondary process of the EAL"}};
    if (!heap)
        throw Error{EBADF,
                    {.trouble = Trouble::invalid,
                     .what = "the arena \"" + name + "\" is closed",
                     .limit = "",
                     .remedy = "build it anew"}};
}

Arena::Arena(std::shared_ptr<State> state) noexcept : state_{std::move(state)} {}
Arena::Arena(Arena&&) noexcept = default;
Arena& Arena::operator=(Arena&&) noexcept = default;
Arena::~Arena() = default;

Arena Arena::build(std::string_view name, const ArenaOptions& options)
{
    require_eal();
    check_name("an arena", name);
    if (is_secondary())
        throw Error{ENOTSUP,
                    {.trouble = Trouble::unsupported,
                     .what = "cannot build the arena \"" + std::string{name} + "\" in a secondary process",
                     .limit = "",
                     .remedy = "build it in the primary process and attach it here"}};
    // The heap is made first: it is cheap, and settles whether the name is free before pages are touched.
    const auto state = std::make_shared<State>(std::string{name}, Heap::Role::owner, options.domains);
    state->options = options;
    if (!options.domains.empty())
        check_may_pin(options.size, "building the arena \"" + state->name + '"');
    Window window = Window::build(window_options(options, options.size));
    WindowRegions regions = register_window(window, state->domains);
    const std::lock_guard lock{state->mutex};
    state->add(std::move(window), std::move(regions));
    return Arena{state};
}

Arena Arena::attach(std::string_view name, const std::vector<Domain>& domains)
{
    require_eal();
    check_name("an arena", name);
    if (!is_secondary())
        throw Error{ENOTSUP,
                    {.trouble = Trouble::unsupported,
                     .what = "cannot attach the arena \"" + std::string{name} + "\" in a primary process",
                     .limit = "",
                     .remedy = "attach it in a process started with --proc-type=secondary; under --in-memory or "
                               "--no-shconf there are none"}};
    static_cast<void>(count_shared_windows(std::string{name})); // a clear error before the heap is looked for
    Arena arena{std::make_shared<State>(std::string{name}, Heap::Role::guest, domains)};
    arena.refresh();
    return arena;
}

void Arena::grow(std::size_t size)
{
    std::optional<WindowOptions> options;
    {
        const std::lock_guard lock{state_->mutex};
        state_->require_open();
        if (!state_->offer)
            throw Error{ENOTSUP,
                        {.trouble = Trouble::unsupported,
                         .what = "cannot grow the arena \"" + state_->name + "\" in a secondary process",
                         .limit = "",
                         .remedy = "grow it in the primary process, and refresh it here"}};
        options = window_options(state_->options, size);
    }
    if (!state_->domains.empty())
        check_may_pin(size, "growing the arena \"" + state_->name + '"');
    // Without the lock: taking pages and pinning them is slow, and nobody sees them yet.
    Window window = Window::build(*options);
    WindowRegions regions = register_window(window, state_->domains);
    const std::lock_guard lock{state_->mutex};
    state_->require_open();
    state_->add(std::move(window), std::move(regions));
}

void Arena::State::refresh()
{
    if (offer)
        return; // a primary has all its windows
    const std::size_t there = count_shared_windows(name);
    while (windows.size() < there) {
        SharedWindow shared = map_shared_window(name, windows.size());
        leases.reserve(leases.size() + 1);
        WindowRegions shared_regions = register_window(shared.window, domains);
        add(std::move(shared.window), std::move(shared_regions));
        leases.push_back(std::move(shared.lease));
    }
}

void Arena::refresh()
{
    const std::lock_guard lock{state_->mutex};
    state_->require_open();
    state_->refresh();
}

void Arena::close()
{
    const std::lock_guard lock{state_->mutex};
    if (state_->heap)
        state_->require_open(); // closing again is fine, but not in a child
    state_->dismantle();
}

const std::vector<Domain>& Arena::domains() const noexcept
{
    return state_->domains;
}

ArenaPhases Arena::phases() const
{
    const std::lock_guard lock{state_->mutex};
    ArenaPhases sum{.heap = state_->heap_time};
    for (const Window& window : state_->windows) {
        const BuildPhases& phases = window.phases();
        sum.pages += phases.take + phases.map + phases.give_back;
        sum.frames += phases.frames;
        sum.place += phases.place;
    }
    for (const WindowRegions& regions : state_->regions) {
        const RegisterPhases phases = regions.phases();
        sum.pin += phases.pin + phases.map;
        sum.tables += phases.tables;
    }
    return sum;
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
                     .remedy = "name the domain where the arena is built (ArenaOptions::domains) or attached"}};
    return static_cast<std::size_t>(found - domains.begin());
}

const Region& Arena::region(const Domain& domain, const void* address, std::size_t length) const
{
    const std::lock_guard lock{state_->mutex};
    state_->require_open();
    const std::size_t number = state_->number_of(domain);
    const auto begin = reinterpret_cast<std::uintptr_t>(address);
    const std::span memory{static_cast<const std::byte*>(address), length};
    const bool wraps = length > ~begin; // then memory has no end
    const Region* first = nullptr;      // that holds the first byte
    for (const WindowRegions& regions : state_->regions) {
        if (const Region* const found = wraps ? nullptr : regions.find(number, memory))
            return *found;
        if (first == nullptr)
            first = regions.find(number, std::span{memory.data(), 1});
    }
    Cause cause{.trouble = Trouble::invalid,
                .what = "there is no one key to " + format_size(length) + " at " + format_hex(begin),
                .limit = "that does not lie in the arena \"" + state_->name + '"',
                .remedy = "give memory that came from the arena; in a secondary process refresh it first"};
    if (first != nullptr)
        cause = {.trouble = Trouble::invalid,
                 .what = std::move(cause.what),
                 .limit = "bytes from there to the end of the key that begins in front",
                 .present = static_cast<std::uint64_t>(first->bytes().data() + first->bytes().size() - memory.data()),
                 .need = length,
                 .remedy = "use it in two pieces, or reserve it as a zone, which then has a key of its own"};
    throw Error{EFAULT, std::move(cause)};
}

PortMapping Arena::map_for(std::uint16_t port)
{
    const std::lock_guard lock{state_->mutex};
    state_->require_open();
    return state_->ports.add(port, state_->windows);
}

std::string Arena::explain(const Limits& limits) const
{
    const std::lock_guard lock{state_->mutex};
    std::string lines;
    for (const Window& window : state_->windows)
        lines += (lines.empty() ? "" : "\n") + window.plan(limits).explain();
    return lines;
}

const std::string& Arena::name() const noexcept
{
    return state_->name;
}

int Arena::socket_id() const noexcept
{
    return state_->socket_id;
}

std::size_t Arena::size() const
{
    const std::lock_guard lock{state_->mutex};
    std::size_t bytes = 0;
    for (const Window& window : state_->windows)
        bytes += window.block().size();
    return bytes;
}

std::span<const Window> Arena::windows() const
{
    const std::lock_guard lock{state_->mutex};
    return state_->windows;
}

} // namespace mrz
