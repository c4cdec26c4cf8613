// SPDX-License-Identifier: BSD-3-Clause
#include <mrzone/zone.hpp>

#include "arena_state.hpp"
#include "dpdk.hpp"

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

} // namespace

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
    {
        const std::lock_guard lock{state->mutex};
        state->add(std::move(window), std::move(regions));
    }
    state->listed.emplace(*state, state->name);
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
    arena.state_->listed.emplace(*arena.state_, arena.name());
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

ArenaSnapshot Arena::snapshot() const
{
    return state_->snapshot(number());
}

std::uint64_t Arena::number() const noexcept
{
    return state_->listed->number();
}

std::vector<Living> Arena::living()
{
    return Listed<State>::living();
}

std::optional<ArenaSnapshot> Arena::snapshot_of(std::uint64_t number)
{
    std::optional<ArenaSnapshot> found;
    Listed<State>::visit(number, [&](const State& state) { found = state.snapshot(number); });
    return found;
}

std::span<const Window> Arena::windows() const
{
    const std::lock_guard lock{state_->mutex};
    return state_->windows;
}

} // namespace mrz
