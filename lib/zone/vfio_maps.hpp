// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! What DPDK's own VFIO container knows of an arena's windows.
#pragma once

#include "eal_iovas.hpp"

#include <mrzone/hugepage.hpp>

#include <cstddef>
#include <optional>
#include <vector>

namespace mrz {

//! All devices under VFIO share one container, and DPDK maps memory of heaps there by itself, when it becomes part of
//! a heap: each page apart (vfio_mem_event_callback in lib/eal/linux/eal_vfio.c), so that an IOMMU has no entry
//! larger than a page, and the kernel an object for each. A window that is mapped before is mapped in one piece for
//! each run of EAL IOVAs: DPDK finds its pages mapped, and leaves them.
//!
//! Not thread-safe. Only for a primary process: the container is its own.
class VfioMaps {
  public:
    //! A range that was refused, and why.
    struct Refusal {
        EalRange range;
        int error_number;
    };

    //! Maps a window that is not part of a heap yet. On a refusal nothing of it is mapped, and DPDK is left to map
    //! its pages.
    [[nodiscard]] std::optional<Refusal> map(const Window& window);
    //! Maps a window of a heap, unless it is mapped, so that a refusal is seen. What DPDK mapped of it already stays
    //! as it is.
    [[nodiscard]] std::optional<Refusal> map_in_heap(const Window& window);
    //! Takes a window out of the container, before it leaves its heap. DPDK would then unmap each page, which is
    //! mapped no more, and complain of each; so its pages seem to have no IOVA from now on.
    void unmap(const Window& window) noexcept;
    //! Undoes unmap() for a window that stays in its heap after all.
    void put_back(const Window& window) noexcept;

  private:
    std::optional<Refusal> map(const Window& window, bool in_heap);

    std::vector<const std::byte*> mapped_; // where these windows begin
    std::vector<const std::byte*> unmapped_;
};

} // namespace mrz
