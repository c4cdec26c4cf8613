// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! What a cache is. Private to this floor.
//!
//! Three parties meet here. Hits read a table, and write only their thread's record. Whoever changes which regions
//! there are holds the lock, though not while he registers. The control thread deregisters.
#pragma once

#include "dpdk_memory.hpp"
#include "mark.hpp"
#include "range.hpp"
#include "record.hpp"
#include "table.hpp"
#include "watch.hpp"

#include <mrzone/cache.hpp>
#include <mrzone/file_descriptor.hpp>
#include <mrzone/host.hpp>
#include <mrzone/listed.hpp>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>

namespace mrz {
namespace cache {

//! What counts against the budgets.
struct Charge {
    std::uint64_t bytes = 0;
    std::uint64_t keys = 0;
    std::uint64_t entries = 0;

    Charge& operator+=(const Charge& other) noexcept
    {
        bytes += other.bytes;
        keys += other.keys;
        entries += other.entries;
        return *this;
    }
    Charge& operator-=(const Charge& other) noexcept
    {
        bytes -= other.bytes;
        keys -= other.keys;
        entries -= other.entries;
        return *this;
    }
    //! Whether no part is more than the other's.
    [[nodiscard]] bool within(const Charge& other) const noexcept
    {
        return bytes <= other.bytes && keys <= other.keys && entries <= other.entries;
    }
};
//! Before a region is planned.
Charge charge_of(const Range& range) noexcept;

//! A region, or a place for one.
struct Holding {
    std::uint32_t index = 0;
    Range range = {};
    Access access = Access::local_read;
    Iova iova = {};
    LKey lkey = {};
    RKey rkey = {};
    std::optional<Region> region = {};
    Charge charge = {};
};

//! A region to be made.
struct Wanted {
    Range asked = {}; //!< What must be covered.
    Range range = {}; //!< What is tried first: more, where it is rounded to larger pages or merged.
    Access access = Access::local_read;
    bool merged = false;                  //!< Made of several.
    std::uint64_t neighbours_entries = 0; //!< Of those that it would replace; 0: there are none.
    std::uint32_t index = 0;              //!< Its place, once it has one.
    std::uint64_t dying = 0;              //!< What its mark was when its region had to go again; 0: there was none.
    std::optional<Region> region = {};
};

} // namespace cache

class CacheState final : private cache::Listener, private cache::DpdkListener {
  public:
    CacheState(const Domain& domain, const CacheOptions& options);
    CacheState(const CacheState&) = delete;
    CacheState& operator=(const CacheState&) = delete;
    ~CacheState(); //!< Nothing is leased.

    [[nodiscard]] Lease lease(std::span<std::byte> memory, Access access);
    [[nodiscard]] std::vector<Lease> lease_all(std::span<const LeaseRequest> requests);
    void invalidate(std::span<const std::byte> memory) noexcept;
    void set_pending(bool pending) noexcept;
    //! \p number is its own: who comes by that may come before the constructor's end.
    [[nodiscard]] CacheSnapshot snapshot(std::uint64_t number) const;
    [[nodiscard]] const Domain& domain() const noexcept { return domain_; }
    [[nodiscard]] std::uint64_t number() const noexcept { return listed_->number(); }
    void close();
    //! Deregisters all that is not leased and ends the thread, whatever is leased.
    void shut() noexcept;

    //! \name For the registry, which holds its lock.
    //! @{
    [[nodiscard]] std::uint64_t id() const noexcept { return id_; }
    [[nodiscard]] cache::Records& records() noexcept { return records_; }
    [[nodiscard]] const cache::Records& records() const noexcept { return records_; }
    void note_fork() noexcept { gate_.fetch_or(forked_bit); }
    [[nodiscard]] bool forked() const noexcept { return (gate_.load() & forked_bit) != 0; }
    void become_orphan() noexcept { orphaned_ = true; }
    [[nodiscard]] bool orphaned() const noexcept { return orphaned_; }
    //! From now on nobody without a handle looks at it; waits for who does.
    void leave_list() noexcept { listed_.reset(); }
    //! Something that ended may not be in use any more.
    void note_release() noexcept;
    //! Whether it is a region of this cache that has ended. It may be of one that is gone, so it is not looked into.
    [[nodiscard]] bool has_ended(const cache::Holding* holding) const noexcept;
    //! @}

  private:
    using Lock = std::unique_lock<std::mutex>;
    using Clock = std::chrono::steady_clock;
    static constexpr std::uint64_t closed_bit = std::uint64_t{1} << 63;
    static constexpr std::uint64_t forked_bit = std::uint64_t{1} << 62;

    struct Open; // requests that are not served yet

    // ---- Hits (hit.cpp)
    cache::Record& record();
    //! Fills a slot with a region that serves; nullptr if there is none, or \p gated and the gate is shut.
    cache::Slot* hold(cache::Record& record, const cache::Range& range, Access access, bool gated);
    [[nodiscard]] std::optional<std::uint32_t> search(cache::Record& record, const cache::Range& range,
                                                      Access access) const;
    [[nodiscard]] static Lease make_lease(cache::Slot& slot, std::span<std::byte> memory) noexcept;
    //! Until leases may be given. Throws Error if there will be none.
    void wait_at_gate() const;

    // ---- Misses (miss.cpp)
    void serve(Open& open);
    void make_regions(Lock& lock, Open& open);
    bool try_to_make(Lock& lock, Open& open, bool last_try);
    void serve_known(Open& open);
    [[nodiscard]] bool on_its_way(const Open& open) const;
    void start(std::span<cache::Wanted> wanted) noexcept;
    void finish(std::span<cache::Wanted> wanted) noexcept;
    void lease_made(std::span<const cache::Wanted> wanted, Open& open);
    void replace_neighbours(const cache::Wanted& made) noexcept;
    //! Returns when nothing is left of them.
    void take_back(Lock& lock, std::span<cache::Wanted> wanted) noexcept;

    // ---- Registering, without the lock (registering.cpp)
    void register_all(std::span<cache::Wanted> wanted);
    void register_some(std::span<cache::Wanted> wanted);
    void register_one(cache::Wanted& wanted);
    //! A region that is not told of what happens to its memory is for those alone who wait for it now.
    void watch_over(cache::Wanted& wanted);
    //! Whether a region of it, which has its place already, may be kept.
    [[nodiscard]] bool is_told_of(const cache::Range& range) const;
    [[nodiscard]] bool merging_saves(const cache::Wanted& wanted) const;
    void narrow(cache::Wanted& wanted);

    // ---- Which ranges (ranges.cpp)
    void round(Open& open) const;
    [[nodiscard]] std::optional<std::vector<host::MappedMemory>> mappings_of(const cache::Range& range) const;
    [[nodiscard]] std::vector<cache::Wanted> ranges_for(Open& open) const;
    void add_neighbours(cache::Wanted& wanted);

    // ---- Room (room.cpp)
    [[nodiscard]] bool fits(const cache::Charge& need) const noexcept;
    //! Returns whether there is room for \p need. If not, it has waited for some, and all may have changed.
    //! Throws Error if there will be none.
    bool make_room(Lock& lock, const cache::Charge& need);
    //! Once there had to be made room it is made before the next needs it.
    void make_room_ahead() noexcept;
    //! Gives up idle regions, the least recently used first: of \p least in any case, if there are so many, and else
    //! none; and on to \p most. Returns whether it did.
    bool evict(const cache::Charge& least, const cache::Charge& most);
    //! Gives up all idle regions and waits until all that leave by then are gone. False if there was none.
    bool evict_idle(Lock& lock);
    //! Those of the chosen that are not in use go to the dying, and are not alive any more. Returns how many.
    std::size_t give_up(std::span<const std::uint32_t> chosen) noexcept;
    //! The same, but they stay in lists and tables, from which the caller takes them.
    std::size_t part_with(std::span<const std::uint32_t> chosen) noexcept;
    //! For sorting indices by address.
    [[nodiscard]] auto begins() const noexcept
    {
        return [this](std::uint32_t index) { return holdings_[index].range.begin; };
    }
    //! What ended and is not in use goes to the dying.
    void collect_ended() noexcept;
    void let_die(std::uint32_t index) noexcept;
    void vacate(std::uint32_t index) noexcept;
    //! Fills held_. False if it cannot be known.
    bool look_who_holds() noexcept;
    //! The same as far as it can be seen: what others have just leased, or released, is missing.
    void glance_who_holds() noexcept;
    //! Publishes what is alive. For want of memory the old table stays: it finds less, and nothing wrong.
    void publish_table() noexcept;
    //! The same, where all that went since the last publish_table() is covered by newer ones.
    void publish_newest() noexcept;
    //! Those that are alive, until rows_ changes. \p indices are in order of address.
    std::span<const cache::Row> rows_of(std::span<const std::uint32_t> indices) noexcept;
    void publish(std::span<const cache::Row> rows, std::shared_ptr<const cache::Table> base);
    std::shared_ptr<cache::Table> unused_base();
    std::unique_ptr<cache::Table> unread_table();

    // ---- The control thread (control.cpp)
    void make_bell();
    void start_thread();
    //! Lets go of mappings in which there is nothing any more, if there may be many.
    void sweep(Lock& lock);
    void ring() noexcept; // wakes it
    //! Wakes it for what nobody waits for, together with more of it. With the lock.
    void ring_soon() noexcept;
    void work() noexcept;
    void wait_for_work(Lock& lock) noexcept;
    void deregister_some(Lock& lock) noexcept;
    void sleep(Lock& lock, std::optional<Clock::time_point> until) const noexcept;

    // ---- The watch (watching.cpp)
    void start_watch();
    void end_watch() noexcept;
    void note_pending(bool pending) noexcept override;
    void note_gone(std::span<const std::byte> memory) noexcept override;
    void list_ranges(std::vector<cache::Range>& ranges) const override;
    void note_freed(std::span<const std::byte> memory) noexcept override;

    // What hits read, and nobody writes often.
    alignas(128) std::atomic<std::uint64_t> gate_ = 0; // how often pending was raised, and bits; hits need 0
    std::atomic<const cache::Table*> table_ = nullptr;
    std::atomic<std::uint32_t> epoch_ = 1; // a time that goes on with each miss
    std::uint64_t id_ = 0;
    std::unique_ptr<cache::Mark[]> marks_;
    std::unique_ptr<cache::Holding[]> holdings_;

    alignas(128) const CacheOptions options_;
    Domain domain_;
    cache::Records records_;
    bool orphaned_ = false; // of the registry

    mutable std::mutex mutex_;
    std::condition_variable changed_;       // regions came, failed to, or went
    std::atomic<std::uint32_t> places_ = 0; // the first so many marks were ever used
    std::vector<std::uint32_t> vacant_;
    std::vector<std::uint32_t> on_their_way_;
    std::vector<std::uint32_t> alive_;  // in order of address; some may have ended meanwhile
    std::vector<std::uint32_t> newest_; // of these, those that came after the published table's base
    std::vector<std::uint32_t> dying_;
    // Scratch.
    std::vector<bool> held_;
    std::vector<std::uint32_t> chosen_;
    std::vector<cache::Row> rows_;
    cache::Charge used_;
    cache::Charge leaving_; // the part of it that is dying
    const cache::Charge budget_;
    std::unique_ptr<cache::Table> published_;
    std::vector<std::unique_ptr<cache::Table>> retired_; // not known to be unread
    std::vector<std::unique_ptr<cache::Table>> unread_;
    std::vector<std::shared_ptr<cache::Table>> bases_; // all; those that nobody else shares may be made anew

    std::uint64_t misses_ = 0;
    std::uint64_t evictions_ = 0;
    std::uint64_t merges_ = 0;
    std::uint64_t waits_ = 0;
    std::uint64_t deregistered_ = 0;
    std::atomic<std::uint64_t> invalidations_ = 0;
    std::atomic<std::uint64_t> unkept_ = 0;

    FileDescriptor bell_;
    std::atomic<bool> in_haste_ = false; // it was rung for what does not wait
    bool told_ = false;                  // that there is something to be deregistered; since it slept last
    std::atomic<bool> some_ended_ = false;
    std::atomic<bool> stop_ = false;
    Clock::time_point next_deregistration_ = {};
    std::uint64_t swept_at_ = 0; // deregistered_ then
    std::thread thread_;
    WatchedLookUp look_up_; // of the domain
    std::atomic<bool> some_hidden_ = false;
    std::shared_ptr<cache::ProcessWatch> watch_; // null: not watched
    std::optional<cache::Listening> listening_;
    std::optional<cache::DpdkListening> dpdk_;
    std::optional<Listed<CacheState>> listed_; // from when it is whole
};

//! Requests on their way to leases.
struct CacheState::Open {
    struct Rest {
        std::size_t request = 0;  //!< Its index.
        cache::Range asked = {};  //!< What must be covered: whole pages, if no right is remote.
        cache::Range larger = {}; //!< That, rounded to larger pages where that costs no entry.
        std::size_t wanted = 0;   //!< Which region is to be made for it.
    };
    cache::Record& record;
    std::span<const LeaseRequest> requests;
    std::span<Lease> leases;
    std::vector<Rest> rest = {}; //!< Not served yet.

    [[nodiscard]] Access access(const Rest& one) const noexcept { return requests[one.request].access; }
};

} // namespace mrz
