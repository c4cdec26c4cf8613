// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! What notices that memory goes away, and tells those who have keys to it. Private to this floor.
//!
//! A mapping can have one watcher only, so all caches of a process share it. Its thread does nothing but to read and
//! tell: whoever unmaps waits for it, perhaps with any lock held that there is, and freeing memory may be unmapping.
//! So it waits for no lock but those held for a few instructions, and allocates, frees and deregisters nothing; which
//! is why it is not the thread that deregisters.
#pragma once

#include "range.hpp"
#include "watch_kernel.hpp"

#include <mrzone/file_descriptor.hpp>
#include <mrzone/foreign_memory.hpp>
#include <mrzone/host.hpp>

#include <array>
#include <cstddef>
#include <latch>
#include <list>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

namespace mrz::cache {

//! Who is told. It is called by the thread that reads, and does nothing that the description above forbids.
class Listener {
  public:
    Listener() = default;
    Listener(const Listener&) = delete;
    Listener& operator=(const Listener&) = delete;

    //! True: events were seen, and not read yet. False: all that they say was told.
    virtual void note_pending(bool pending) noexcept = 0;
    //! This memory is no longer what it was.
    virtual void note_gone(std::span<const std::byte> memory) noexcept = 0;
    //! Adds all ranges that it wants to hear of. Called by others than the thread that reads.
    virtual void list_ranges(std::vector<Range>& ranges) const = 0;

  protected:
    ~Listener() = default;

  private:
    friend class Watcher;
    Listener* next_ = nullptr;
};

class Watcher {
  public:
    //! Throws Error (internal).
    explicit Watcher(Userfault userfault);
    Watcher(const Watcher&) = delete;
    Watcher& operator=(const Watcher&) = delete;
    ~Watcher(); //!< Nobody listens any more.

    //! From the return of the first call on, and until the second is called, it is told of all that is covered.
    void add(Listener& listener) noexcept;
    void remove(Listener& listener) noexcept;

    //! Whether listeners, which have to list it already, are told of whatever happens from now on to any part of this
    //! range.
    bool watch(const Range& range);
    //! Whether what is pinned of it now is perhaps not what stays there. Then it may be used, but nothing about it
    //! may be kept.
    [[nodiscard]] bool was_discarded(const Range& range) const;
    //! Mappings in which nobody lists a range are left in peace: to unmap them costs no more than it did.
    void sweep();
    //! Mappings that are watched.
    [[nodiscard]] std::size_t mappings() const;
    //! Where the mapping that all of this range is in is, and its page size, if it is under watch and no part of it
    //! has gone since: quicker than to ask the kernel.
    [[nodiscard]] std::optional<host::MappedMemory> known(const Range& range) const;

  private:
    friend class WatcherOfProcess;
    struct Mapping {
        Range range = {};
        std::size_t page_size = 0;
        bool torn = false; //!< A part of it went: who watches what is there now is not known.
    };
    //! The kernel tells of pages that are discarded before they go (mm/madvise.c, madvise_dontneed_free), and never
    //! that they are gone. What is pinned meanwhile is perhaps the old page, so nothing is kept for a while. That is
    //! counted in ticks of the thread, which stops when the process is stopped, and the one that discards with it.
    struct Discarded {
        Range range = {};
        unsigned ticks = 0; //!< Left.
    };

    void work() noexcept;
    void read_and_tell() noexcept;
    void tell(const Event& event) noexcept;
    void tell(const Range& range) noexcept;
    void note_discarded(const Range& range) noexcept;
    void note_torn(const Range& range) noexcept;
    void tick() noexcept;
    void set_clock(bool runs) noexcept;
    //! \p complaint is what is to be said of it, if anything.
    [[nodiscard]] bool watch(const Range& pages, std::string& complaint);
    [[nodiscard]] bool watch_mappings(const Range& pages, std::string& complaint);
    void sweep_locked();

    Userfault userfault_;
    FileDescriptor bell_;  // ends the thread
    FileDescriptor clock_; // runs while something that was discarded is not kept

    std::mutex mutex_;         // who changes something holds it; never taken by the thread
    mutable std::mutex short_; // who changes or reads something: held for a few instructions, and nothing that waits
    std::list<Mapping> mappings_;
    Listener* listeners_ = nullptr;
    std::size_t swept_ = 0; // mappings after the last sweep
    std::array<Discarded, 64> discarded_ = {};
    std::size_t next_discarded_ = 0;
    bool clock_runs_ = false;

    std::latch thread_runs_{1};
    std::thread thread_;
};

//! Keeps the process's watcher, which is made if there is none.
class ProcessWatch final : public MemoryWatch {
  public:
    //! Throws Error as Userfault and Watcher.
    ProcessWatch();
    ProcessWatch(const ProcessWatch&) = delete;
    ProcessWatch& operator=(const ProcessWatch&) = delete;
    ~ProcessWatch() override;

    void watch(std::span<const std::byte> memory) override;
    [[nodiscard]] Watcher& watcher() const noexcept { return watcher_; }

  private:
    Watcher& watcher_;
};

//! As long as it lives the watcher tells the listener.
class Listening {
  public:
    Listening(Watcher& watcher, Listener& listener) noexcept : watcher_{watcher}, listener_{listener}
    {
        watcher_.add(listener_);
    }
    Listening(const Listening&) = delete;
    Listening& operator=(const Listening&) = delete;
    ~Listening() { watcher_.remove(listener_); }

  private:
    Watcher& watcher_;
    Listener& listener_;
};

} // namespace mrz::cache
