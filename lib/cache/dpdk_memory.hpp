// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! What DPDK tells of its own memory, which it gives back to the kernel as it likes. Private to this floor.
//!
//! The event comes before the pages go, in the thread that frees, which holds DPDK's locks. Nobody leases memory that
//! he has freed; but who registers a range together with its neighbours may still pin pages that are about to go. So
//! what was last said to go counts as going until DPDK says something else, which it does only when that is done.
//!
//! It needs no EAL: the EAL may be started before, later, or never. With --legacy-mem or --no-huge nothing is ever
//! freed, so nothing is told. In a secondary process DPDK's own thread tells.
#pragma once

#include "range.hpp"

#include <cstddef>
#include <span>

namespace mrz::cache {

//! Who is told.
class DpdkListener {
  public:
    DpdkListener() = default;
    DpdkListener(const DpdkListener&) = delete;
    DpdkListener& operator=(const DpdkListener&) = delete;

    //! This memory goes, or DPDK forgets it. Takes no lock under which anything of DPDK is called.
    virtual void note_freed(std::span<const std::byte> memory) noexcept = 0;

  protected:
    ~DpdkListener() = default;

  private:
    friend class DpdkMemory;
    DpdkListener* next_ = nullptr;
};

//! As long as it lives DPDK tells the listener. Neither made nor destroyed in a callback of DPDK's memory events.
class DpdkListening {
  public:
    //! Throws bad_alloc.
    explicit DpdkListening(DpdkListener& listener);
    DpdkListening(const DpdkListening&) = delete;
    DpdkListening& operator=(const DpdkListening&) = delete;
    ~DpdkListening(); //!< It is not being told any more.

  private:
    DpdkListener& listener_;
};

//! Whether a part of the range may be about to go. For who listens, and has already what he is to be told of.
[[nodiscard]] bool dpdk_frees(const Range& range) noexcept;

//! Whether the range lies in one piece of memory that DPDK took from the kernel itself, so that it is told of
//! whatever happens to a part of it as long as anybody listens. Not after rte_eal_cleanup(), which takes the memory
//! away without a word, and with it what is asked here.
[[nodiscard]] bool is_dpdk_memory(const Range& range) noexcept;

} // namespace mrz::cache
