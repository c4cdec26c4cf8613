// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! The temporary tier: regions made on demand, kept while there is room, and leases that hold those in use.
#pragma once

#include <mrzone/base.hpp>
#include <mrzone/listed.hpp>
#include <mrzone/region.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace mrz {

class Cache;
class CacheState;

namespace cache {
struct Holding;
struct Slot;
} // namespace cache

//! Who tells a cache that memory is no longer what it was.
enum class Watch {
    automatic,   //!< userfaultfd, where it is to be had.
    userfaultfd, //!< The kernel; without it there is no cache.
    none,        //!< The application, by Cache::invalidate(), and before the memory's addresses are used again.
};

struct CacheOptions {
    static constexpr std::uint64_t unlimited = std::numeric_limits<std::uint64_t>::max();

    //! Bytes, in whole pages, that leased and idle regions pin together, and those that wait for deregistration.
    std::size_t bytes = 256_MiB;
    //! Regions, counted likewise; 1 to 1,048,576. A region has one key, or one over several.
    std::size_t keys = 4096;
    //! MTT entries and entries of indirect keys, counted likewise. They are known when a region was planned, so it is
    //! registered first, and given back where there is no room for it.
    std::uint64_t entries = unlimited;
    //! The longest range, in bytes, that comes of rounding to hugepages or of merging. 0: nothing is merged.
    std::size_t merge_up_to = 2_MiB;
    //! Whether a range of small pages may grow to the aligned 2 MiB around it, where these lie in one mapping and in
    //! one contiguous, congruent run, so that they cost the one entry that the range costs. Such a region reaches
    //! over memory that nobody asked for: safe only if the cache is told of *all* memory that is unmapped, as a
    //! watched one is.
    bool grow = false;
    //! How fast idle regions are deregistered, at most: a device that does nothing else slows its other traffic down.
    //! Bytes and regions a second, from 1 on. By default regions of up to some 650 KiB are limited by their number,
    //! and larger ones by bytes, of which hugepages let go faster than that and small pages slower.
    std::uint64_t deregister_bytes = 64_GiB;
    std::uint64_t deregister_keys = 100'000;
    //! Of memory that is leased; see Cache.
    Watch watch = Watch::automatic;
    //! Threads that register a batch, the caller's among them, for the duration of the call; from 1 on.
    unsigned batch_threads = 2;
};

//! A use of a region of a cache: while it lives the keys work and the memory is pinned. What was moved from, or
//! released, may only be assigned, released or destroyed. Any one thread may use or release it, not only the one that
//! took it. It may live longer than its Cache.
class MRZ_API Lease {
  public:
    Lease() = default; //!< Holds nothing.
    Lease(Lease&& other) noexcept;
    //! What it held is released.
    Lease& operator=(Lease&& other) noexcept;
    ~Lease() { release(); }

    //! Ends the use. Poll the completions of what was posted with its keys before.
    void release() noexcept;
    //! Whether it holds something.
    explicit operator bool() const noexcept { return slot_ != nullptr; }

    //! The memory that was asked for.
    [[nodiscard]] std::span<std::byte> bytes() const noexcept { return bytes_; }
    //! The address of its first byte for those who use the keys.
    [[nodiscard]] Iova iova() const noexcept;
    [[nodiscard]] LKey lkey() const noexcept;
    //! Grants nothing unless a remote right was asked for.
    [[nodiscard]] RKey rkey() const noexcept;
    //! Of the region: at least what was asked for, and nothing remote that was not.
    [[nodiscard]] Access access() const noexcept;
    //! All that the region covers: the range asked for, rounded to pages, or what that was merged into.
    [[nodiscard]] std::span<std::byte> region_bytes() const noexcept;

  private:
    friend class CacheState;
    Lease(const cache::Holding& holding, cache::Slot& slot, std::span<std::byte> bytes) noexcept
        : holding_{&holding}, slot_{&slot}, bytes_{bytes}
    {
    }

    const cache::Holding* holding_ = nullptr;
    cache::Slot* slot_ = nullptr;
    std::span<std::byte> bytes_ = {};
};

//! One range of a batch.
struct LeaseRequest {
    std::span<std::byte> memory = {};
    Access access = Access::local_write;
};

//! What a cache did and holds.
struct CacheSnapshot {
    std::uint64_t number = 0;        //!< Cache::number().
    std::uint64_t domain = 0;        //!< Its domain's number.
    std::uint64_t hits = 0;          //!< Leases of regions that were there.
    std::uint64_t misses = 0;        //!< Leases for which a region was made, or whose making was awaited.
    std::uint64_t evictions = 0;     //!< Idle regions given up for room.
    std::uint64_t merges = 0;        //!< Regions made of a range and its neighbours, or of several of one batch.
    std::uint64_t invalidations = 0; //!< Regions that invalidate() ended.
    std::uint64_t waits = 0;         //!< Times that a caller waited for deregistration.
    std::uint64_t deregistered = 0;  //!< Regions.
    std::uint64_t unkept = 0;        //!< Regions made for one lease alone, since nobody tells of their memory.
    std::size_t leases = 0;          //!< Now.
    std::size_t regions = 0;         //!< Now, those in use and idle ones: what a lease can be had of at once.
    std::size_t keys = 0;      //!< Regions now that count against the budget: those above, and those on their way.
    std::size_t bytes = 0;     //!< That count against the budget now.
    std::uint64_t entries = 0; //!< That count against the budget now.
    std::uint64_t budget_bytes = 0;   //!< CacheOptions::bytes.
    std::uint64_t budget_keys = 0;    //!< CacheOptions::keys.
    std::uint64_t budget_entries = 0; //!< CacheOptions::entries.
    bool watched = false;             //!< Whether the kernel tells of memory that goes away.
};

//! Regions of a domain on demand.
//!
//! lease() finds a region that covers the range with the rights asked for, or registers one. Ranges without remote
//! rights are rounded out to whole pages, of the machine or of the hugepages that they lie in, and may be merged with
//! idle neighbours; any remote right gets exactly the range, which is shared only with requests for the same range
//! and rights. Regions nobody holds stay, for the next who asks, until their room is needed; the least recently used
//! go first, as far as hits can tell without writing anything that threads share: what was used since the last miss
//! counts as equally recent.
//!
//! All calls but close() and destruction are thread-safe. A hit takes no lock and writes nothing that another thread
//! reads or writes, except where regions are given up.
//!
//! Memory goes away. No lease that starts after a call has returned that unmapped memory, mapped other over it or
//! moved it (munmap, mmap with MAP_FIXED, mremap, brk) is of a region over what was there, provided that the cache is
//! watched: by userfaultfd, without which, or for memory that cannot be had under watch (System V's, what another
//! userfaultfd watches), each lease registers for itself and nothing is kept, which is said once. Who unmaps memory
//! with regions in it waits some ten microseconds for the watch. Of what MADV_DONTNEED or MADV_FREE discarded nothing
//! is kept for a second, since the kernel tells of it before and not after. What happens to a file (ftruncate,
//! fallocate, MADV_REMOVE), MADV_GUARD_INSTALL, what remap_file_pages() or shmat() with SHM_REMAP puts in place of
//! other memory, and everything with Watch::none, the application tells by invalidate(), after it was done and before
//! the addresses are used again. Memory must not be unmapped while a lease of it is being made or used; if it is,
//! that lease may be for what was or for what comes, and no later one is. Nor is it unmapped in a signal handler that
//! may interrupt a call of this library: it would wait for a lock that the interrupted thread holds. mremap() does
//! not move several watched mappings in one call. fork() needs nothing from Linux 5.13 on, where pinned pages stay
//! the parent's; before, who pins by verbs calls ibv_fork_init(), and bears what that costs (mrz_cache_create(3)).
//!
//! Of memory that DPDK took from the kernel itself, in any process, DPDK tells when it gives it back, and what leaves
//! an external heap is forgotten, too. So it is kept where there is no userfaultfd. Such memory must not be leased
//! any more once it was freed. rte_eal_cleanup() takes it away without a word, and with it what can be asked of it:
//! caches that are not watched are closed before, and afterwards only memory is leased that is mapped and can be had
//! under watch. A cache is neither made, closed nor destroyed in a callback of DPDK's memory events.
//!
//! Resident regions of the domain are cared for, too, while it has a watched cache: look-ups (mrzone/lookup.h) miss
//! while memory may be gone, and no look-up that starts after such a call has returned finds a region that touches
//! what was there. The region itself stays as it is, with its key and the pages that it pinned, until its owner ends
//! it. Memory that cannot be had under watch is found as without a cache.
//!
//! Has one thread, "mrz-cache", that deregisters; all watched caches of a process share another, "mrz-watch". Belongs
//! to the process that made it: in a child of fork() it throws Error (unsupported, ENOTSUP), and destroying it or its
//! leases does nothing.
class MRZ_API Cache {
  public:
    //! Throws Error: invalid (EINVAL) for options out of their range; internal where a thread or a descriptor is not
    //! to be had; permission where membarrier is refused after it was granted.
    explicit Cache(const Domain& domain, const CacheOptions& options = {});
    Cache(Cache&&) noexcept;
    //! What it was assigned to is destroyed first.
    Cache& operator=(Cache&&) noexcept;
    //! Deregisters what is not leased. Regions that are go with the last lease of this cache.
    ~Cache();

    //! A use of a region that covers \p memory with at least the rights \p access.
    //! Throws Error as Domain::register_memory(); busy (ENOBUFS) where leased regions fill the budget; invalid
    //! (E2BIG) for a range that the whole budget has no room for; invalid (EBADF) after close(). Where a limit
    //! refuses (locked memory, keys, a control group), idle regions are given up and it is tried once more before.
    [[nodiscard]] Lease lease(std::span<std::byte> memory, Access access = Access::local_write);
    //! A lease each, in the order of the requests; or Error, as lease(), and then none, and nothing that was not
    //! there before stays registered. Ranges that lie together and have no remote rights become one region, up to
    //! CacheOptions::merge_up_to.
    [[nodiscard]] std::vector<Lease> lease_all(std::span<const LeaseRequest> requests);

    //! Forgets the regions that touch \p memory: no lease that starts afterwards gets one of them. They are
    //! deregistered when their last lease is released. Takes no lock, allocates, frees and deregisters nothing:
    //! may be called where the unmapping thread waits for the caller (a handler of userfaultfd's events).
    void invalidate(std::span<const std::byte> memory) noexcept;
    //! While this was raised more often than cleared, lease() and lease_all() wait: what invalidate() is about to
    //! forget is not known yet. As invalidate(), callable from such a handler.
    void set_pending(bool pending) noexcept;

    //! Throws Error (unsupported, ENOTSUP) in a child of fork().
    [[nodiscard]] CacheSnapshot snapshot() const;
    //! Among all caches of this process; never another's.
    [[nodiscard]] std::uint64_t number() const noexcept;
    //! All caches of this process, with the names of their domains' devices, also those that are gone but for leases;
    //! in a child of fork() those that it made.
    [[nodiscard]] static std::vector<Living> living();
    //! Of the cache of that number; nothing if it is gone.
    [[nodiscard]] static std::optional<CacheSnapshot> snapshot_of(std::uint64_t number);
    [[nodiscard]] Domain domain() const;

    //! Deregisters all and ends the thread. Closing twice is closing once. Throws Error: busy (EBUSY), with how many
    //! leases there are; permission (EPERM) where membarrier is refused after it was granted. Nothing has changed
    //! then, except that idle regions may be gone.
    void close();

  private:
    std::unique_ptr<CacheState> state_;
};

} // namespace mrz
