// SPDX-License-Identifier: BSD-3-Clause
#include "record.hpp"

#include "state.hpp"

#include <algorithm>
#include <bit>
#include <memory>
#include <new>

#include <pthread.h>

namespace mrz::cache {

constinit thread_local Bound last_used;

// ---- Record ------------------------------------------------------------------------------------------------------

void Record::fill(Chunk& chunk, std::size_t size)
{
    chunk.slots = std::make_unique<Slot[]>(size);
    for (std::size_t i = 0; i < size; ++i)
        chunk.slots[i].record = this;
    chunk.size = size;
}

void Record::reserve(std::size_t regions)
{
    // Few regions share a place, and all hints stay in the processor's nearest caches.
    const unsigned bits = std::clamp<unsigned>(static_cast<unsigned>(std::bit_width(4 * regions)), 6, 12);
    hints_.assign(std::size_t{1} << bits, 0);
    hint_shift_ = static_cast<int>(64 - bits);
    // Zero pages that take no memory until they are used.
    epochs_.reset(static_cast<std::atomic<std::uint32_t>*>(std::calloc(regions, sizeof epochs_[0])));
    if (!epochs_)
        throw std::bad_alloc{};
}

Slot& Record::search_vacant()
{
    // Slots are emptied in about the order in which they were filled, so the next one is most likely to be free.
    constexpr std::size_t near = 8;
    for (std::size_t i = 0; i < near; ++i) {
        at_ = (at_ + 1) % current_->size;
        if (current_->slots[at_].held.load(std::memory_order_relaxed) == nullptr)
            return current_->slots[at_];
    }
    std::size_t filled = 0;
    std::size_t slots = 0;
    Chunk* last = &first_;
    for (Chunk* chunk = &first_; chunk != nullptr;
         last = chunk, chunk = chunk->next.load(std::memory_order_relaxed)) {
        slots += chunk->size;
        for (std::size_t i = 0; i < chunk->size; ++i) {
            if (chunk->slots[i].held.load(std::memory_order_relaxed) != nullptr) {
                ++filled;
            } else {
                current_ = chunk;
                at_ = i;
            }
        }
    }
    if (filled > slots / 2) { // else searching would be what a lease costs
        auto chunk = std::make_unique<Chunk>();
        fill(*chunk, slots);
        current_ = chunk.get();
        at_ = 0;
        last->next.store(chunk.release());
    }
    return current_->slots[at_];
}

// ---- Registry ----------------------------------------------------------------------------------------------------

//! What a thread has to give back when it ends.
struct Thread {
    std::vector<Bound> bound;
    ~Thread();
};

namespace {

thread_local Thread this_thread;
constinit thread_local bool has_ended = false; // objects of the thread that go later may still use a cache

} // namespace

Thread::~Thread()
{
    has_ended = true;
    Registry::get().leave(bound);
    last_used = {};
}

Registry& Registry::get()
{
    static auto* const registry = new Registry; // threads may end after everything static
    return *registry;
}

Registry::Registry()
{
    // Nobody else is at it while the process forks; and the child's caches, which are its parent's, say so.
    static const auto before = [] { get().mutex_.lock(); };
    static const auto in_parent = [] { get().mutex_.unlock(); };
    static const auto in_child = [] {
        for (CacheState* const state : get().states_)
            state->note_fork();
        get().mutex_.unlock();
    };
    if (const int error = ::pthread_atfork(+before, +in_parent, +in_child); error != 0)
        throw std::bad_alloc{};
}

std::uint64_t Registry::add(CacheState& state)
{
    const std::scoped_lock guard{mutex_};
    states_.push_back(&state);
    return ++last_id_;
}

void Registry::remove(CacheState& state) noexcept
{
    const std::scoped_lock guard{mutex_};
    take_out(state);
}

void Registry::take_out(CacheState& state) noexcept
{
    state.leave_list(); // whoever looks at it looks at its records
    states_.remove(&state);
    for (Record* record = state.records().head_.exchange(nullptr); record != nullptr;) {
        Record* const next = record->next_;
        record->state_ = nullptr;
        record->cache_ = 0;
        record->next_ = nullptr;
        record->owned_ = false;
        record->attention.store(false);
        record->hits_.store(0);
        record->epochs_.reset();
        spare_.push_back(record); // room was reserved when the record was made
        record = next;
    }
}

Record& Registry::record_of(CacheState& state, std::size_t regions)
{
    if (!has_ended) {
        const auto known = std::ranges::find(this_thread.bound, state.id(), &Bound::cache);
        if (known != this_thread.bound.end()) {
            last_used = *known;
            return *known->record;
        }
        this_thread.bound.reserve(this_thread.bound.size() + 1);
    }
    const std::scoped_lock guard{mutex_};
    Record* found = nullptr;
    state.records().for_each([&](Record& record) {
        if (!record.owned_)
            found = &record;
    });
    if (found == nullptr) {
        if (spare_.empty()) {
            static std::size_t made = 0;
            spare_.reserve(made + 1);
            spare_.push_back(new Record);
            ++made;
        }
        found = spare_.back();
        found->reserve(regions);
        spare_.pop_back();
        found->state_ = &state;
        found->cache_ = state.id();
        found->next_ = state.records().head_.load();
        state.records().head_.store(found);
    }
    found->owned_ = true;
    if (!has_ended) {
        std::erase_if(this_thread.bound, [](const Bound& old) { return old.record->cache_ != old.cache; }); // gone
        this_thread.bound.push_back({state.id(), found});
    }
    last_used = {state.id(), found};
    return *found;
}

void Registry::leave(const std::vector<Bound>& bound) noexcept
{
    const std::scoped_lock guard{mutex_};
    for (const Bound& one : bound)
        if (one.record->cache_ == one.cache)
            one.record->owned_ = false;
}

bool Registry::holds_anything(const CacheState& state) noexcept
{
    bool anything = false;
    state.records().for_each([&](const Record& record) { record.for_each_held([&](auto) { anything = true; }); });
    return anything;
}

void Registry::attend(Record& record, const Holding* released) noexcept
{
    std::unique_lock guard{mutex_};
    CacheState* const state = record.state_;
    if (state == nullptr || state->forked())
        return;
    if (!state->orphaned()) {
        // As long as something that ended is in use, all releases of its thread come here.
        if (state->has_ended(released))
            state->note_release();
        return;
    }
    if (holds_anything(*state))
        return;
    take_out(*state);
    guard.unlock();
    delete state;
}

void Registry::orphan(CacheState& state) noexcept
{
    std::unique_lock guard{mutex_};
    state.become_orphan();
    state.records().for_each([](Record& record) { record.attention.store(true); });
    if (!everybody_published() || holds_anything(state))
        return;
    take_out(state);
    guard.unlock();
    delete &state;
}

} // namespace mrz::cache
