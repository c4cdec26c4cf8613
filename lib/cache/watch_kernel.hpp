// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! What the kernel tells of memory that goes away: userfaultfd(2). Private to this floor.
#pragma once

#include "range.hpp"

#include <mrzone/file_descriptor.hpp>

#include <optional>
#include <span>

namespace mrz::cache {

//! A piece of news.
struct Event {
    enum class Is {
        unmapped,  //!< The range is no longer what it was; perhaps it is mapped anew.
        discarded, //!< Its pages go, and the mapping stays.
        moved,     //!< To another place, which is no longer what it was either.
        unknown,   //!< Something about any range.
    };
    Is what = Is::unknown;
    Range range = {};
    Range to = {}; //!< Of what was moved.
};

//! A userfaultfd of this process. It asks for no page faults, so it hinders nobody's access; but who unmaps, moves or
//! discards memory that is watched goes on only when the event was read. Calls are thread-safe.
//!
//! It asks for no news of fork() either: a child's mappings are not its parent's, and without the wish the kernel
//! takes them out of the watch (fs/userfaultfd.c, dup_userfaultfd). With it fork() would wait for us, and it takes
//! CAP_SYS_PTRACE.
class Userfault {
  public:
    //! Throws Error: unsupported or permission, with what userfaultfd(2) says; internal for want of a descriptor.
    Userfault();

    [[nodiscard]] int descriptor() const noexcept { return fd_.get(); }
    //! What there is to be read, without waiting, into \p events; returns the filled part. Allocates nothing.
    std::span<Event> read(std::span<Event> events) noexcept;
    //! Watches what is mapped in a range that begins and ends with mappings. False, with errno, if it may not be.
    bool watch(const Range& mappings) noexcept;
    void unwatch(const Range& range) noexcept;
    //! Whether every page of the range is in a mapping that is watched: by whom is not known.
    [[nodiscard]] bool is_watched(const Range& pages) const;
    //! For a child of fork(): its copy would keep the parent's watch alive when the parent has ended it.
    void forget() noexcept { fd_ = FileDescriptor{}; }

    //! Ask the kernel as those before Linux 6.7 have to be asked.
    void pretend_old() noexcept { pagemap_ = FileDescriptor{}; }

  private:
    FileDescriptor fd_;
    FileDescriptor pagemap_; // where it can be asked
};

} // namespace mrz::cache
