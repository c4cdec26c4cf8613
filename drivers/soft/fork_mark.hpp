// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Whether this is the process that made something, or a child of it, asked without a system call.
#pragma once

#include <atomic>
#include <new>

#include <sys/mman.h>
#include <sys/types.h>
#include <unistd.h>

namespace mrz::soft {

//! A page that the kernel wipes in children of fork(). Thread-safe.
class ForkMark {
  public:
    ForkMark()
    {
        void* const page = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (page == MAP_FAILED)
            throw std::bad_alloc{};
        wiped_ = ::madvise(page, size, MADV_WIPEONFORK) == 0;
        process_ = new (page) std::atomic<pid_t>{::getpid()};
    }
    ForkMark(const ForkMark&) = delete;
    ForkMark& operator=(const ForkMark&) = delete;
    ~ForkMark() { ::munmap(process_, size); }

    [[nodiscard]] bool is_here() const noexcept
    {
        const pid_t process = process_->load(std::memory_order_relaxed);
        return wiped_ ? process != 0 : process == ::getpid();
    }

  private:
    static constexpr std::size_t size = 4096;

    std::atomic<pid_t>* process_;
    bool wiped_; // else, before Linux 4.14, a system call it is
};

} // namespace mrz::soft
