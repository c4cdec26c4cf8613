// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Arenas and zones: windows of hugepages as a DPDK heap, and named pieces of it, with the keys to both.
//!
//! The application starts the EAL; mrzone never does. Arena::build() and Arena::attach() throw Error (unsupported,
//! ENODEV) where none runs. What they made is to be gone before rte_eal_cleanup().
#pragma once

#include <mrzone/base.hpp>
#include <mrzone/hugepage.hpp>
#include <mrzone/listed.hpp>
#include <mrzone/plan.hpp>
#include <mrzone/region.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

struct rte_memzone;

namespace mrz {

class Zone;

//! How an arena takes its memory; see WindowOptions for each member that is not explained here.
struct ArenaOptions {
    std::size_t size = 0;
    std::size_t page_size = std::size_t{2} << 20;
    std::optional<int> node = {};
    unsigned threads = 0;
    Surplus surplus = Surplus::percent(100);
    std::function<void(const BuildProgress&)> progress = {};
    //! The device that pages are chosen for. None: one with the indirect keys that all \p domains have, and with
    //! pages as large as the kernel stands.
    std::optional<Limits> limits = {};
    PlanOptions plan = {};
    //! Where all of the arena is registered, for its owner's use: see Arena::region().
    std::vector<Domain> domains = {};
};

//! Where the time of making an arena's windows went, all of them together.
struct ArenaPhases {
    std::chrono::nanoseconds pages{};  //!< Take (which zeroes), map, and give the surplus back.
    std::chrono::nanoseconds frames{}; //!< Read where the pages lie.
    std::chrono::nanoseconds place{};  //!< Choose pages, order and address.
    std::chrono::nanoseconds pin{};    //!< In all domains: pin, and find the frames again.
    std::chrono::nanoseconds tables{}; //!< In all domains: fill the device's tables.
    std::chrono::nanoseconds heap{};   //!< Make it memory of DPDK's heap.
};

//! What an arena is made of now.
struct ArenaSnapshot {
    //! Its regions in one domain. What zones of it have registered for peers is not among these, but counts with them
    //! in the domain's tier.
    struct InDomain {
        std::uint64_t domain = 0; //!< Domain::number().
        TierSnapshot regions = {};
    };
    std::uint64_t number = 0; //!< Arena::number().
    std::string name;
    int socket_id = -1;
    bool closed = false;
    std::optional<int> node = {}; //!< That it was built for.
    std::size_t page_size = 0;    //!< Bytes; 0 where there is no window.
    std::size_t windows = 0;
    std::size_t bytes = 0; //!< Of all blocks.
    std::size_t zones = 0; //!< Of this process, alive.
    bool frames_known = true;
    std::vector<InDomain> domains = {};
};

//! What came of mapping an arena for a port.
enum class PortMapping {
    mapped,         //!< The port's device was told, and can reach the arena.
    nothing_to_map, //!< A device of software: DPDK calls it done although nothing was mapped, and nothing need be.
};

//! Hugepage windows that are one DPDK heap, so that plain DPDK calls on socket_id() take memory from it.
//!
//! An Arena is a handle: the memory lives until the handle and every Zone of it are gone. Calls on one arena may
//! come from several threads, except destruction and assignment of the handle itself; what windows() returned must
//! not be used across grow(), refresh() or close(). One that was moved from may only be assigned to or destroyed.
//!
//! Close arenas before rte_eal_cleanup(): after it their memory is given back, with a warning, but other calls are
//! not allowed. A child made by fork may destroy its copies, which does nothing to the parent's; other calls throw
//! Error (unsupported, ENOTSUP) there.
class MRZ_API Arena {
  public:
    //! Builds the first window and makes a heap of it. \p name is 1 to 31 characters and names the DPDK heap.
    //! A zone of exactly options.size, the first that is taken, fits and lies on the block.
    //! Throws Error: as Window::build(); busy (EEXIST) if a heap has the name; invalid (EINVAL, ENAMETOOLONG);
    //! unsupported (ENOSPC) if the EAL has no room for another heap or memory list, or in a secondary process; and as
    //! Domain::register_memory(). All is given back then.
    static Arena build(std::string_view name, const ArenaOptions& options);
    //! In a secondary process: maps all windows of the primary's arena at the same addresses.
    //! Throws Error: unsupported where the EAL has no secondary processes (--in-memory, --no-shconf), or
    //! in a primary; invalid (ENOENT) if the primary has no such arena; busy (EEXIST) if an address is taken; and as
    //! Domain::register_memory(). Regions belong to the process that made them: \p domains are this one's.
    static Arena attach(std::string_view name, const std::vector<Domain>& domains = {});

    Arena(Arena&&) noexcept;
    Arena& operator=(Arena&&) noexcept;
    //! Gives the memory back when its last zone is gone too. Memory that DPDK still uses is kept, with one warning.
    ~Arena();

    //! Adds a window of \p size bytes; what is there does not move. Throws as build(). From then on secondary
    //! processes must refresh() before any call of DPDK on this heap, frees included: its list of free pieces runs
    //! through all windows. reserve() and the end of a Zone do so themselves.
    //! Throws as map_for() too, where ports know the arena; the window is given back then, unless another thread has
    //! memory of it already: it stays, unknown to the ports.
    void grow(std::size_t size);
    //! In a secondary process: maps the windows that the primary has added since. Throws as attach().
    void refresh();
    //! Takes the heap apart and gives all memory back. Throws Error: busy (EBUSY), naming the memzones that live in
    //! it, or saying that secondary processes are attached, and then nothing has changed; where another thread
    //! allocates at that very time, windows that nobody used may be gone. In a secondary it only detaches, and is
    //! refused while Zones of that process live. Calling it
    //! again does nothing; grow(), refresh() and reserve() then throw Error (invalid, EBADF).
    void close();

    [[nodiscard]] const std::string& name() const noexcept;
    //! The socket id that DPDK's allocation calls take for this heap (256 and above).
    [[nodiscard]] int socket_id() const noexcept;
    //! Bytes of all blocks.
    [[nodiscard]] std::size_t size() const;
    [[nodiscard]] std::span<const Window> windows() const;
    [[nodiscard]] const std::vector<Domain>& domains() const noexcept;
    //! Waits while a window becomes part of the heap. Throws Error: unsupported (ENOTSUP) in a child of fork().
    [[nodiscard]] ArenaSnapshot snapshot() const;
    //! Among all arenas of this process, whose own numbers these are; never another's.
    [[nodiscard]] std::uint64_t number() const noexcept;
    //! All arenas of this process, by their names, also those that are gone but for zones; in a child of fork() those
    //! that it made.
    [[nodiscard]] static std::vector<Living> living();
    //! Of the arena of that number, of which no handle is needed; nothing if it is gone.
    [[nodiscard]] static std::optional<ArenaSnapshot> snapshot_of(std::uint64_t number);
    [[nodiscard]] ArenaPhases phases() const;
    //! The arena's own region in \p domain that holds \p length bytes at \p address. Each window is pinned once a
    //! domain, under two keys that grant local write and nothing to peers: one over the block, which is the one with
    //! few entries, and one over the header page, where DPDK puts what fits there. Lives until close().
    //! Throws Error: invalid (EINVAL) for a domain that the arena does not have; invalid (EFAULT) for memory that is
    //! not in the arena, or not under one key: what DPDK puts over the end of a header page, as it may where the
    //! arena is nearly full, is a zone's to have a key for, or to be sent in two pieces; invalid (EBADF) once closed.
    [[nodiscard]] const Region& region(const Domain& domain, const void* address, std::size_t length) const;
    //! Makes all windows, and those to come, known to the device of an Ethernet port (rte_dev_dma_map), until the
    //! arena is closed. Doing so again does nothing. A device under VFIO knows in any case what is built while its
    //! port is there: for it this tells whether it was refused. On a bus of virtual devices DPDK does not tell
    //! whether a driver did anything, so the answer there is nothing_to_map. Throws Error, and then nothing is
    //! mapped: invalid (ENODEV) for a port that is not there; unsupported (ENOTSUP) where the bus or its kernel
    //! driver maps no memory; unsupported with the errno of any other refusal; permission (EPERM) where the EAL's
    //! IOVAs are physical addresses, and hidden; invalid (EBADF) once closed.
    PortMapping map_for(std::uint16_t port);
    //! What one key over each window's block costs, and why: Plan::explain(), a line a window. Throws as make_plan().
    [[nodiscard]] std::string explain(const Limits& limits) const;

    //! Carves a zone of exactly \p size bytes, at an address that is a multiple of \p align (bytes, a power of two of
    //! at most 2 GiB). \p name is 1 to 31 characters, unique among memzones. Throws Error: busy (EEXIST); invalid
    //! (EINVAL, ENAMETOOLONG; EBADF once closed); hugepages (ENOMEM) if no window has that much left in one piece;
    //! unsupported (ENOSPC) if the EAL has no room for another memzone; invalid (EINVAL) for rights that contradict
    //! each other, or remote ones in an arena without domains; and as Domain::register_memory().
    //! \param access what its keys are to grant; see Zone::region().
    [[nodiscard]] Zone reserve(std::string_view name, std::size_t size, Access access = Access::local_write,
                               std::size_t align = 64);

  private:
    friend class Zone;
    struct MRZ_HIDDEN State;
    MRZ_HIDDEN explicit Arena(std::shared_ptr<State> state) noexcept;
    std::shared_ptr<State> state_;
};

//! A named piece of an arena: an rte_memzone, freed when the Zone is destroyed. It owns the arena's memory together
//! with the Arena's handle, so it may outlive that. Calls may come from several threads, except destruction and
//! assignment; one that was moved from may only be assigned to or destroyed.
class MRZ_API Zone {
  public:
    Zone(Zone&&) noexcept;
    Zone& operator=(Zone&&) noexcept;
    ~Zone();

    [[nodiscard]] std::span<std::byte> bytes() const noexcept;
    //! DPDK's own description of it, as long as the Zone lives. Not to be freed by the caller.
    [[nodiscard]] const rte_memzone* memzone() const noexcept;
    //! The cheapest plan for one key over exactly this zone, with iova = virtual address. Throws Error as
    //! make_optimal_plan().
    [[nodiscard]] Plan plan(const Limits& limits) const;
    //! The rights that it was reserved with.
    [[nodiscard]] Access access() const noexcept;
    //! The region to use the zone with in \p domain; its iova is the virtual address. With a remote right: one of the
    //! zone's own, over exactly bytes() and with exactly access(), so that a peer reaches nothing else. Without: the
    //! arena's, which is larger and grants local write whatever access() says, since another key would cost entries
    //! and protect from nobody; only where none of the arena's holds the whole zone, one of its own. Lives as long as
    //! the Zone. Throws Error (invalid, EINVAL) for a domain that the arena does not have.
    [[nodiscard]] const Region& region(const Domain& domain) const;

  private:
    friend class Arena;
    MRZ_HIDDEN void free() noexcept;
    MRZ_HIDDEN void register_own();
    MRZ_HIDDEN const Region* of_arena(std::size_t domain) const;
    MRZ_HIDDEN Zone(std::shared_ptr<Arena::State> arena, const rte_memzone* memzone, std::size_t size,
                    Access access) noexcept;
    std::shared_ptr<Arena::State> arena_;
    const rte_memzone* memzone_ = nullptr;
    std::size_t size_ = 0; // what was asked for: DPDK rounds a memzone's length up to a cache line
    Access access_ = Access::local_write;
    std::vector<Region> own_; // one for each domain of the arena, or none
};

} // namespace mrz
