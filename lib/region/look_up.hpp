// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! A domain's look-up, from the side of those who change it. Private to this floor.
#pragma once

#include "quiescence.hpp"
#include "segment_table.hpp"

#include <mrzone/base.hpp>
#include <mrzone/foreign_memory.hpp>
#include <mrzone/lookup.h>
#include <mrzone/region.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <sys/types.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace mrz {

//! The addresses of a process that look-ups read: a mrz_lookup_head_ and the slots, of which only what is used takes
//! memory.
class ViewMapping {
  public:
    //! Without slots where there is not so much address space to be had, which is said once.
    //! Throws Error (invalid, ENOMEM) where there is not even a page.
    ViewMapping();
    ViewMapping(const ViewMapping&) = delete;
    ViewMapping& operator=(const ViewMapping&) = delete;
    ~ViewMapping();
    [[nodiscard]] mrz_lookup_head_& head() const noexcept { return *head_; }
    //! Of each slot: where its region ends, and its key.
    [[nodiscard]] std::uint64_t* ends() const noexcept { return reinterpret_cast<std::uint64_t*>(head_ + 1); }
    [[nodiscard]] std::uint32_t* keys() const noexcept
    {
        return reinterpret_cast<std::uint32_t*>(ends() + MRZ_LOOKUP_SLOTS_);
    }

  private:
    mrz_lookup_head_* head_ = nullptr;
    std::size_t length_ = 0;
};

//! All calls are thread-safe. Destroyed when nothing is listed and nobody reads any more.
class LookUp {
    using Memories = std::multimap<std::uint64_t, Foreign>; // by start

  public:
    LookUp();
    LookUp(const LookUp&) = delete;
    LookUp& operator=(const LookUp&) = delete;
    ~LookUp();

    //! A region that is to be found, for as long as this lives. Empty after it was moved from.
    class Listing {
      public:
        Listing() = default;
        Listing(Listing&& other) noexcept
            : look_up_{std::exchange(other.look_up_, nullptr)}, region_{other.region_}, memory_{other.memory_},
              is_{other.is_}
        {
        }
        Listing& operator=(Listing&& other) noexcept
        {
            std::swap(look_up_, other.look_up_);
            std::swap(region_, other.region_);
            std::swap(memory_, other.memory_);
            std::swap(is_, other.is_);
            return *this;
        }
        ~Listing()
        {
            if (look_up_ != nullptr)
                look_up_->remove(*this);
        }

      private:
        friend class LookUp;
        enum class Is { announced, in_slots, searched };
        LookUp* look_up_ = nullptr;
        SearchedRegion region_;
        Memories::iterator memory_ = {}; // where region_.foreign is
        Is is_ = Is::announced;
    };
    //! A region that is to be registered. Look-ups do not find it yet, but what happens to its memory from now on
    //! counts. \param lasting see RegionOptions. Throws std::bad_alloc.
    [[nodiscard]] Listing announce(std::uint64_t start, std::uint64_t length, bool lasting);
    //! Lets look-ups find an announced region, unless its memory is gone. Throws std::bad_alloc, and then nothing has
    //! changed.
    void list(Listing& listing, LKey key, Access access);
    //! Puts an announced region's memory under watch, if there is one.
    void watch(std::span<const std::byte> memory);

    //! A number for a new reader. Throws Error: busy (EMFILE).
    [[nodiscard]] unsigned enter();
    void leave(unsigned reader) noexcept;
    //! Of these only what readers may call at any time is to be used.
    [[nodiscard]] Quiescence& quiescence() noexcept { return quiescence_; }
    [[nodiscard]] const std::uint64_t* view() const noexcept { return view_.ends(); }

    //! From now until open() regions that are not in slots are not found: for when some of their memory may be gone.
    //! Shutting and opening nest. shut() neither allocates nor waits for anybody who does.
    void shut() noexcept;
    void open() noexcept;
    //! Until that was opened which is shut now. Whoever unmapped memory goes on before it is hidden, though not
    //! before it is shut, and may map other there: what is announced then would be hidden for what was there earlier.
    void wait_until_told() const noexcept;

    //! \name As WatchedLookUp says.
    //! \{
    void attach(const std::shared_ptr<MemoryWatch>& watch);
    void detach(const std::shared_ptr<MemoryWatch>& watch) noexcept;
    bool hide(std::uint64_t start, std::uint64_t end) noexcept;
    void tidy() noexcept;
    void list_memory(std::vector<std::span<const std::byte>>& memory) const;
    //! \}

    [[nodiscard]] LookUpSnapshot snapshot() const;

  private:
    void remove(Listing& listing) noexcept;
    //! Takes back what announce() did.
    void forget_memory(const Listing& listing) noexcept;
    //! With mutex_ held.
    void list_all(std::vector<std::span<const std::byte>>& memory) const;
    [[nodiscard]] bool is_gone(const SearchedRegion& region) const noexcept;
    //! Of what is searched takes out what is gone.
    void drop_gone() noexcept;
    [[nodiscard]] bool fits_free_slots(const SearchedRegion& region) noexcept;
    //! Throws std::bad_alloc, and then nothing has changed.
    void fill_slots(const SearchedRegion& region);
    void empty_slots(const SearchedRegion& region) noexcept;
    //! Makes tables of what is searched now, and publishes them. Throws std::bad_alloc, and then nothing has changed.
    //! Only of what was searched after drop_gone(), with mutex_ held all the time.
    void change_tables(bool writable_too);
    //! Lets readers find the current table; gate_ is held, and nothing shut.
    void show(std::size_t which) noexcept;
    void publish(int use, std::unique_ptr<SegmentTable> table) noexcept;
    void retire(std::unique_ptr<SegmentTable> table) noexcept;
    void free_retired() noexcept;
    //! For after the lock is given back, since a log sink may do anything.
    static void complain(std::size_t waiting) noexcept;

    const pid_t owner_ = ::getpid(); // a child made by fork leaves alone what it has copies of
    ViewMapping view_;
    mutable std::mutex mutex_; // for all that follows, but for gate_
    Quiescence quiescence_;
    std::vector<SearchedRegion> searched_; // sorted
    bool patchy_ = false;                  // a table lacks what something hid that it forgot
    std::uint64_t dropped_ = 0;            // hidings_ when what was gone was dropped
    std::vector<std::shared_ptr<MemoryWatch>> watches_;
    std::size_t in_slots_ = 0;
    struct Left {
        std::uint64_t start;
        std::uint64_t end;
        std::uint64_t token;
    };
    std::vector<Left> left_; // slots that a reader may be about to read the key of; has room for all in slots
    std::uint64_t next_number_ = 0;
    std::unique_ptr<SegmentTable> retired_; // the oldest; each has the next
    SegmentTable* last_retired_ = nullptr;
    std::size_t waiting_ = 0;
    std::size_t waiting_bytes_ = 0;

    // Held for a few instructions only, and never while anything is allocated or freed; for what follows, and what
    // the view points to. Who changes the memories' map holds mutex_, too.
    mutable std::mutex gate_;
    Memories memories_;         // of the regions that are announced or listed, but for what lasts
    std::uint64_t longest_ = 0; // of them
    std::uint64_t hidings_ = 0; // how often something went
    std::size_t hidden_ = 0;    // memories that are gone
    std::array<std::unique_ptr<SegmentTable>, 2> current_; // by MRZ_LOOKUP_TO_…
    unsigned shut_ = 0;
    std::atomic<std::uint32_t> openings_ = 0; // how often nothing was shut any more
};

} // namespace mrz
