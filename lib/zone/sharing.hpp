// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! How secondary processes of one EAL come to an arena's windows: by messages that carry their file descriptors.
#pragma once

#include <mrzone/hugepage.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <sys/types.h>
#include <unistd.h>

namespace mrz {

//! What a secondary holds while it has windows mapped. The kernel closes it when the process dies, however it dies,
//! so the primary always knows the truth: it holds the other end of the pipe. A process that the primary forks while
//! it answers a request has a copy of this end; until it execs or ends, the secondary counts as attached.
using Attachment = FileDescriptor;

//! One arena's windows, offered to secondary processes for as long as this lives. In an EAL without secondary
//! processes (--in-memory, --no-shconf) nobody will ask.
class Offer {
  public:
    explicit Offer(std::string name);
    Offer(const Offer&) = delete;
    Offer& operator=(const Offer&) = delete;
    ~Offer();

    //! Sees to it that publish() of so many windows cannot fail.
    void make_room(std::size_t windows);
    //! The windows that may be asked for from now on. They may be moved, but must live until the next call.
    void publish(std::span<const Window> windows);
    //! Offers nothing more, unless secondary processes have windows mapped. Both in one step, so that nobody comes in
    //! between. \return how many windows they have mapped, each counted once a process.
    [[nodiscard]] std::size_t withdraw();

  private:
    std::string name_;
    pid_t owner_ = ::getpid(); // a child made by fork offers nothing, and may find the lock held for ever
};

//! What a secondary was given for one window.
struct SharedWindow {
    Window window;
    Attachment attachment;
};
//! In a secondary: how many windows the primary's arena has.
//! Throws Error: unsupported (no secondary processes in this EAL), invalid (ENOENT: no such arena).
std::size_t count_shared_windows(const std::string& arena);
//! In a secondary: maps one of them. Throws as count_shared_windows(), and as Window::attach().
SharedWindow map_shared_window(const std::string& arena, std::size_t index);

} // namespace mrz
