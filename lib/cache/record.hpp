// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! What a thread writes for a cache that it uses: which regions it holds, and when it used which. Private to this
//! floor.
#pragma once

#include "barrier.hpp"

#include <mrzone/base.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <list>
#include <memory>
#include <mutex>
#include <vector>

namespace mrz {
class CacheState;
}

namespace mrz::cache {

struct Holding;
class Record;
class Table;
struct Thread;

//! A lease is a slot with a region in it. Its thread fills it; whoever has the lease empties it.
struct Slot {
    std::atomic<const Holding*> held = nullptr;
    Record* record = nullptr;
};

//! One thread's part of one cache. Others read it when regions are given up.
//!
//! Records are never freed, only used again: a lease's slot is there when the cache is gone.
class alignas(128) Record {
  public:
    Record() { fill(first_, 64); }
    Record(const Record&) = delete;
    Record& operator=(const Record&) = delete;

    //! \name Of the thread that owns it.
    //! @{
    //! A slot that holds nothing. Throws bad_alloc.
    Slot& vacant()
    {
        Slot& slot = current_->slots[at_];
        return slot.held.load(std::memory_order_relaxed) == nullptr ? slot : search_vacant();
    }
    void note_use(std::uint32_t index, std::uint32_t epoch) noexcept
    {
        epochs_[index].store(epoch, std::memory_order_relaxed);
    }
    //! Which region was the last to serve the page at \p address, or one that shares this place with it.
    [[nodiscard]] std::uint32_t& hint(std::uintptr_t address) noexcept
    {
        return hints_[(address >> 12) * 0x9e3779b97f4a7c15 >> hint_shift_]; // Fibonacci hashing
    }
    void count_hit() noexcept { hits_.store(hits_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed); }
    //! The table that the thread looks at.
    std::atomic<const Table*> table = nullptr;
    //! @}

    //! \name Of everybody.
    //! @{
    [[nodiscard]] std::uint64_t hits() const noexcept { return hits_.load(std::memory_order_relaxed); }
    [[nodiscard]] std::uint32_t last_use(std::uint32_t index) const noexcept
    {
        return epochs_[index].load(std::memory_order_relaxed);
    }
    //! Calls look(const Holding*) for each slot that is filled.
    template <class Look>
    void for_each_held(Look look) const
    {
        for (const Chunk* chunk = &first_; chunk != nullptr; chunk = chunk->next.load())
            for (std::size_t i = 0; i < chunk->size; ++i)
                if (const Holding* const held = chunk->slots[i].held.load())
                    look(held);
    }
    //! Whether who empties a slot is to call attend().
    alignas(64) std::atomic<bool> attention = false;
    //! @}

  private:
    friend class Records;
    friend class Registry;
    struct Chunk {
        std::size_t size = 0;
        std::unique_ptr<Slot[]> slots;
        std::atomic<Chunk*> next = nullptr; // never freed, as the record
    };
    struct Free {
        void operator()(void* memory) const noexcept { std::free(memory); }
    };

    void fill(Chunk& chunk, std::size_t size);
    void reserve(std::size_t regions);
    Slot& search_vacant();

    Chunk first_;
    Chunk* current_ = &first_;
    std::size_t at_ = 0;
    std::vector<std::uint32_t> hints_;
    int hint_shift_ = 0;
    std::unique_ptr<std::atomic<std::uint32_t>[], Free> epochs_;
    std::atomic<std::uint64_t> hits_ = 0;

    // Of the registry.
    CacheState* state_ = nullptr;
    std::uint64_t cache_ = 0;
    Record* next_ = nullptr;
    bool owned_ = false;
};

//! The records of a cache: those of all threads that ever used it.
class Records {
  public:
    //! Calls look(Record&) for each.
    template <class Look>
    void for_each(Look look) const
    {
        for (Record* record = head_.load(); record != nullptr; record = record->next_)
            look(*record);
    }

  private:
    friend class Registry;
    std::atomic<Record*> head_ = nullptr;
};

//! Which record a thread has of which cache.
struct Bound {
    std::uint64_t cache = 0;
    Record* record = nullptr;
};
//! Of the cache that the thread used last. In static TLS, since a call for its address would be a quarter of a hit.
extern constinit thread_local Bound last_used MRZ_HIDDEN __attribute__((tls_model("initial-exec")));

//! All caches and records of this process.
class Registry {
  public:
    static Registry& get();

    //! Gives the state a number that no other has had. From now on it hears of fork().
    std::uint64_t add(CacheState& state);
    //! Forgets the state, and takes its records back; no slot of theirs is filled.
    void remove(CacheState& state) noexcept;
    //! This thread's record of a cache that has an epoch for each of \p regions. Throws bad_alloc.
    Record& record_of(CacheState& state, std::size_t regions);
    //! What is to happen in a state after a slot was emptied that held \p released.
    void attend(Record& record, const Holding* released) noexcept;
    //! Leaves a state, whose cache is gone, to the last lease; or deletes it now, if there is none.
    void orphan(CacheState& state) noexcept;

  private:
    friend Thread;
    Registry();

    void leave(const std::vector<Bound>& bound) noexcept;
    void take_out(CacheState& state) noexcept;
    [[nodiscard]] static bool holds_anything(const CacheState& state) noexcept;

    std::mutex mutex_; // held across fork()
    std::uint64_t last_id_ = 0;
    std::list<CacheState*> states_;
    std::vector<Record*> spare_;
};

inline void let_go(Slot& slot) noexcept
{
    Record& record = *slot.record; // there, whoever has the slot next
    const Holding* const released = slot.held.load(std::memory_order_relaxed);
    publish(slot.held, static_cast<const Holding*>(nullptr));
    if (record.attention.load()) [[unlikely]]
        Registry::get().attend(record, released);
}

} // namespace mrz::cache
