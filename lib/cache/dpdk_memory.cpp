// SPDX-License-Identifier: BSD-3-Clause
#include "dpdk_memory.hpp"

#include <rte_config.h>
#include <rte_eal_memconfig.h>
#include <rte_errno.h>
#include <rte_memory.h>

#include <cerrno>
#include <mutex>
#include <new>

#include <pthread.h>

namespace mrz::cache {

//! Which listeners there are. Two locks, because DPDK's own lock is between them: it is held while DPDK calls us, and
//! is taken to tell DPDK whether it shall. What is held in its callback is never held when it is taken.
class DpdkMemory {
  public:
    static DpdkMemory& get()
    {
        static auto* const memory = new DpdkMemory; // DPDK may call after everything static
        return *memory;
    }

    void add(DpdkListener& listener)
    {
        const std::scoped_lock guard{users_mutex_};
        if (users_ == 0)
            start();
        ++users_;
        const std::scoped_lock list{list_mutex_};
        listener.next_ = listeners_;
        listeners_ = &listener;
    }

    void remove(DpdkListener& listener) noexcept
    {
        {
            const std::scoped_lock list{list_mutex_};
            DpdkListener** place = &listeners_;
            while (*place != &listener)
                place = &(*place)->next_;
            *place = listener.next_;
        }
        const std::scoped_lock guard{users_mutex_};
        // Refused if the EAL was started without dynamic memory meanwhile. Then it stays, which does no harm.
        if (--users_ == 0)
            rte_mem_event_callback_unregister(name, this);
    }

    bool frees(const Range& range) noexcept
    {
        const std::scoped_lock list{list_mutex_};
        return going_.overlaps(range);
    }

  private:
    static constexpr const char* name = "mrzone_cache";

    DpdkMemory()
    {
        // A child of fork() finds both locks free, and what its parent had.
        static const auto before = [] {
            get().users_mutex_.lock();
            get().list_mutex_.lock();
        };
        static const auto after = [] {
            get().list_mutex_.unlock();
            get().users_mutex_.unlock();
        };
        if (::pthread_atfork(+before, +after, +after) != 0)
            throw std::bad_alloc{};
    }

    void start()
    {
        // EEXIST: it stayed. ENOTSUP: an EAL that frees nothing.
        if (rte_mem_event_callback_register(name, &on_event, this) != 0 && rte_errno == ENOMEM)
            throw std::bad_alloc{};
    }

    static void on_event(rte_mem_event event, const void* address, std::size_t length, void* memory)
    {
        const auto begin = reinterpret_cast<std::uintptr_t>(address);
        static_cast<DpdkMemory*>(memory)->note(event == RTE_MEM_EVENT_FREE ? Range{begin, begin + length} : Range{});
    }

    // Events come one after another, each when what the one before spoke of is done: DPDK holds its lock on the
    // memory map meanwhile (malloc_heap_free in lib/eal/common/malloc_heap.c; for a secondary process, who asked the
    // primary does). Of external memory DPDK only says that it forgets it.
    void note(const Range& freed) noexcept
    {
        const std::scoped_lock list{list_mutex_};
        going_ = {};
        if (freed.begin == freed.end)
            return;
        if (is_dpdk_memory(freed))
            going_ = freed;
        const std::span memory{reinterpret_cast<const std::byte*>(freed.begin), freed.length()};
        for (DpdkListener* listener = listeners_; listener != nullptr; listener = listener->next_)
            listener->note_freed(memory);
    }

    std::mutex users_mutex_;
    std::size_t users_ = 0;

    std::mutex list_mutex_;
    DpdkListener* listeners_ = nullptr;
    Range going_ = {};
};

DpdkListening::DpdkListening(DpdkListener& listener) : listener_{listener}
{
    DpdkMemory::get().add(listener_);
}

DpdkListening::~DpdkListening()
{
    DpdkMemory::get().remove(listener_);
}

bool dpdk_frees(const Range& range) noexcept
{
    return DpdkMemory::get().frees(range);
}

// Without DPDK's lock, since whoever leases may hold it. DPDK's own lists stay as they are from the start of the EAL
// to its end. External ones come and go: of these, those of a heap are marked as a heap's when they are marked as
// external (rte_malloc_heap_memory_add in lib/eal/common/rte_malloc.c), and the others never.
bool is_dpdk_memory(const Range& range) noexcept
{
    const rte_memseg_list* const list = rte_mem_virt2memseg_list(reinterpret_cast<const void*>(range.begin));
    if (list == nullptr || __atomic_load_n(&list->heap, __ATOMIC_ACQUIRE) == 0 ||
        __atomic_load_n(&list->external, __ATOMIC_ACQUIRE) != 0)
        return false;
    return rte_mem_virt2memseg_list(reinterpret_cast<const void*>(range.end - 1)) == list;
}

} // namespace mrz::cache
