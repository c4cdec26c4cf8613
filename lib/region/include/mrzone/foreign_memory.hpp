// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Look-up and memory that goes away: for the floor that is told of it. Not for programs, so it is not installed.
#pragma once

#include <mrzone/region.hpp>

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

namespace mrz {

//! What tells of foreign memory that goes away. Calls are thread-safe.
class MemoryWatch {
  public:
    MemoryWatch() = default;
    MemoryWatch(const MemoryWatch&) = delete;
    MemoryWatch& operator=(const MemoryWatch&) = delete;
    virtual ~MemoryWatch() = default;

    //! From now on tells of whatever happens to any part of it. Where it cannot, it says so once.
    virtual void watch(std::span<const std::byte> memory) = 0;
};

//! The look-up of a domain, from the side of who is told of memory that goes away.
class WatchedLookUp {
  public:
    explicit WatchedLookUp(const Domain& domain) noexcept : domain_{domain.state_} {}
    WatchedLookUp(const WatchedLookUp&) = delete;
    WatchedLookUp& operator=(const WatchedLookUp&) = delete;
    ~WatchedLookUp() { detach(); }

    //! Until detach() the memory of regions that look-up finds, but for what lasts (RegionOptions), is put under
    //! watch: of those that are there, now, and of those to come, before it is pinned. Whatever \p watch tells has to
    //! be handed to hide() already. Throws std::bad_alloc and what the watch does.
    void attach(std::shared_ptr<MemoryWatch> watch);
    void detach() noexcept;

    //! \name For where an unmapping thread waits: they allocate and free nothing, and wait for nobody who does.
    //! @{
    //! While shut, regions that are searched are not found: some of their memory may be gone. Nests.
    void shut() noexcept;
    void open() noexcept;
    //! No look-up that starts after open() finds a region, of what does not last, that touches \p memory; its keys
    //! and its pinned pages stay. Returns whether there is one: then call tidy() where it may be called.
    bool hide(std::span<const std::byte> memory) noexcept;
    //! @}
    //! Lets be found again what only regions that were hidden kept from that.
    void tidy() noexcept;
    //! Adds the memory of all regions of which hide() wants to hear.
    void list_memory(std::vector<std::span<const std::byte>>& memory) const;

  private:
    std::shared_ptr<DomainState> domain_;
    std::shared_ptr<MemoryWatch> watch_; // null: detached
};

} // namespace mrz
