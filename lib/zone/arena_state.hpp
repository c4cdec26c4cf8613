// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! What an Arena's handle and its zones own together.
#pragma once

#include "heap.hpp"
#include "port_maps.hpp"
#include "sharing.hpp"
#include "window_regions.hpp"

#include <mrzone/zone.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <sys/types.h>
#include <unistd.h>
#include <vector>

namespace mrz {

struct Arena::State {
    State(std::string arena_name, Heap::Role role, std::vector<Domain> arena_domains);
    State(const State&) = delete;
    State& operator=(const State&) = delete;
    ~State();

    //! Adds a window to the heap and, in a primary, offers it to secondaries. Call with the mutex held.
    void add(Window window, WindowRegions window_regions);
    //! Takes the last window out of the heap; false, which is logged, if somebody has memory of it by now.
    [[nodiscard]] bool take_back_last() noexcept;
    //! Removes all windows and the heap, or throws Error (busy) with nothing changed. Call with the mutex held.
    void dismantle();
    //! The number of a domain in domains. Throws Error (invalid, EINVAL) for another.
    [[nodiscard]] std::size_t number_of(const Domain& domain) const;
    //! Throws Error: invalid (EBADF) once the arena is closed; unsupported (ENOTSUP) in a child made by fork. Call
    //! with the mutex held.
    void require_open() const;

    //! Whether this is the process that made the State. A child made by fork has a copy of it, but must leave alone
    //! what is the parent's: the heap is shared memory.
    [[nodiscard]] bool is_ours() const noexcept { return owner == ::getpid(); }
    //! Call with the mutex held.
    void refresh();

    const std::string name;
    const std::vector<Domain> domains;
    const pid_t owner = ::getpid();
    std::atomic<std::size_t> zones = 0; //!< Of this process, alive.
    mutable std::mutex mutex;           //!< Guards what follows.
    std::optional<Heap> heap;           //!< None once closed.
    std::optional<Offer> offer;         //!< In a primary.
    std::vector<Window> windows;
    std::deque<WindowRegions> regions;   //!< One a window; adding leaves the others where they are.
    std::vector<Attachment> attachments; //!< In a secondary: one a window.
    PortMaps ports;
    std::chrono::nanoseconds heap_time{};
    ArenaOptions options; //!< Of build(), for windows that are added later.
    int socket_id = -1;
};

} // namespace mrz
