// SPDX-License-Identifier: BSD-3-Clause
#include <mrzone/zone.hpp>

#include "arena_state.hpp"
#include "dpdk.hpp"

#include <rte_config.h>
#include <rte_errno.h>
#include <rte_malloc.h>
#include <rte_memzone.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <limits>
#include <mutex>

namespace mrz {
namespace {

//! The layout of part of a window. It may begin in the header page, where a heap puts what fits there.
Layout layout_of_part(const Window& window, std::size_t offset, std::size_t length)
{
    const std::span<const DmaAddress> frames = window.frames();
    const std::size_t page_size = window.map().page_size;
    Layout layout;
    while (length > 0) {
        const std::size_t unit = offset / Window::header_size;
        const std::size_t within = offset % Window::header_size;
        const std::size_t step = std::min(length, Window::header_size - within);
        // Where frames are unknown, no two pages are taken to be contiguous.
        const std::size_t page = (offset + page_size - window.map().header_length) / page_size;
        const DmaAddress frame =
            frames.empty() ? DmaAddress{page * 2 * page_size + offset % page_size - within} : frames[unit];
        layout.append(frame + within, step);
        offset += step;
        length -= step;
    }
    return layout;
}

} // namespace

Zone Arena::reserve(std::string_view name, std::size_t size, Access access, std::size_t align)
{
    check_name("a zone", name);
    check_access(access);
    const std::string what = "cannot reserve " + format_size(size) + " as \"" + std::string{name} +
                             "\" in the arena \"" + state_->name + '"';
    // DPDK takes the alignment as an unsigned.
    if (size == 0 || !std::has_single_bit(align) || align > std::numeric_limits<unsigned>::max())
        throw Error{EINVAL,
                    {.trouble = Trouble::invalid,
                     .what = what + " aligned to " + std::to_string(align),
                     .limit = "",
                     .remedy = "give a size above zero, and as alignment a power of two of at most 2 GiB"}};
    if (has_remote_right(access) && state_->domains.empty())
        throw Error{EINVAL,
                    {.trouble = Trouble::invalid,
                     .what = what + " for " + to_string(access),
                     .limit = "domains of the arena, in which a peer's key would be",
                     .present = 0,
                     .need = 1,
                     .remedy = "build it with domains, or ask for no remote right"}};
    std::unique_lock lock{state_->mutex};
    state_->require_open();
    // DPDK's list of free pieces runs through all windows, those that the primary has added since included.
    state_->refresh();
    const std::string terminated{name};
    const rte_memzone* memzone =
        rte_memzone_reserve_aligned(terminated.c_str(), size, state_->socket_id, 0, static_cast<unsigned>(align));
    if (memzone != nullptr) {
        Zone zone{state_, memzone, size, access};
        // Not yet anybody's: what fails from here on must free it without the lock that this call holds.
        lock.unlock();
        zone.register_own();
        return zone;
    }
    if (rte_errno != ENOMEM)
        throw dpdk_error(rte_errno, what);
    rte_malloc_socket_stats stats{};
    rte_malloc_get_socket_stats(state_->socket_id, &stats);
    const bool misaligned = stats.greatest_free_size >= size;
    throw Error{ENOMEM,
                {.trouble = Trouble::hugepages,
                 .what = what,
                 .limit = misaligned ? "no free piece has that much from a multiple of " + format_size(align) +
                                           " on; the longest in bytes"
                                     : "its longest free piece in bytes",
                 .present = stats.greatest_free_size,
                 .need = size,
                 .remedy = misaligned ? "ask for a smaller alignment, or grow the arena by size and alignment"
                                      : "let the arena grow by a window of that size"}};
}

Zone::Zone(std::shared_ptr<Arena::State> arena, const rte_memzone* memzone, std::size_t size, Access access) noexcept
    : arena_{std::move(arena)}, memzone_{memzone}, size_{size}, access_{access}
{
    ++arena_->zones;
}

Zone::Zone(Zone&& other) noexcept
    : arena_{std::move(other.arena_)}, memzone_{std::exchange(other.memzone_, nullptr)}, size_{other.size_},
      access_{other.access_}, own_{std::move(other.own_)}
{
}

Zone& Zone::operator=(Zone&& other) noexcept
{
    std::swap(arena_, other.arena_);
    std::swap(memzone_, other.memzone_);
    std::swap(size_, other.size_);
    std::swap(access_, other.access_);
    std::swap(own_, other.own_);
    return *this;
}

Zone::~Zone()
{
    if (memzone_ == nullptr || !arena_->is_ours())
        return;
    own_.clear(); // no key to memory that somebody else may get next
    free();
    --arena_->zones;
}

void Zone::free() noexcept
try {
    const std::lock_guard lock{arena_->mutex};
    if (!arena_->heap || arena_->heap->eal_is_gone())
        return;
    arena_->refresh(); // as in reserve()
    if (rte_memzone_free(memzone_) != 0)
        log(Severity::warning, std::string{"a zone could not be freed: "} + rte_strerror(rte_errno));
} catch (const std::exception& error) {
    log(Severity::warning, std::string{"a zone could not be freed: "} + error.what());
}

const Region* Zone::of_arena(std::size_t domain) const
{
    const std::lock_guard lock{arena_->mutex};
    for (const WindowRegions& regions : arena_->regions)
        if (const Region* const found = regions.find(domain, bytes()))
            return found;
    return nullptr;
}

void Zone::register_own()
{
    if (!has_remote_right(access_) && (arena_->domains.empty() || of_arena(0) != nullptr))
        return;
    for (const Domain& domain : arena_->domains)
        // What it is a part of is pinned for as long as the arena lives.
        own_.push_back(
            domain.register_memory(bytes(), access_, {.how = {.sharing = Sharing::always}, .tier = Tier::arena}));
}

Access Zone::access() const noexcept
{
    return access_;
}

const Region& Zone::region(const Domain& domain) const
{
    const std::size_t number = arena_->number_of(domain);
    return own_.empty() ? *of_arena(number) : own_[number];
}

std::span<std::byte> Zone::bytes() const noexcept
{
    return {static_cast<std::byte*>(memzone_->addr), size_};
}

const rte_memzone* Zone::memzone() const noexcept
{
    return memzone_;
}

Plan Zone::plan(const Limits& limits) const
{
    const std::lock_guard lock{arena_->mutex};
    const std::span<std::byte> range = bytes();
    for (const Window& window : arena_->windows) {
        const std::size_t offset = static_cast<std::size_t>(range.data() - window.address());
        if (range.data() >= window.address() && offset < window.length())
            return make_optimal_plan(layout_of_part(window, offset, range.size()),
                                     {.iova = Iova{reinterpret_cast<std::uintptr_t>(range.data())}}, limits);
    }
    throw Error{EFAULT,
                {.trouble = Trouble::internal,
                 .what = "a zone lies outside its arena",
                 .limit = "",
                 .remedy = "do not free its memzone by hand"}};
}

} // namespace mrz
