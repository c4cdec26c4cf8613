// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Ports whose devices know an arena's windows.
#pragma once

#include "vfio_maps.hpp"

#include <mrzone/hugepage.hpp>
#include <mrzone/zone.hpp>

#include <cstdint>
#include <span>
#include <vector>

struct rte_device;

namespace mrz {

//! Not thread-safe. But for prepare() the windows must be part of a DPDK heap: rte_dev_dma_map looks them up.
class PortMaps {
  public:
    //! For a window that becomes part of a heap: maps it for what is under VFIO already. See VfioMaps.
    void prepare(const Window& window) noexcept;
    //! Undoes prepare() for a window that did not become part of its heap, or that leaves it.
    void withdraw(const Window& window) noexcept { vfio_.unmap(window); }
    //! Undoes withdraw() for a window that stays after all.
    void put_back(const Window& window) noexcept { vfio_.put_back(window); }
    //! Maps \p windows for another port, once. Throws Error as Arena::map_for(), and then nothing is mapped for it.
    PortMapping add(std::uint16_t port, std::span<const Window> windows);
    //! Maps one more window for all ports. Throws Error, and then it is mapped for none.
    void add(const Window& window);
    //! Takes back what was mapped of a window that leaves its heap. A port that is gone has taken its maps with it.
    //! If the window stays after all, add() it again.
    void remove(const Window& window) noexcept;

  private:
    struct Port {
        std::uint16_t id;
        rte_device* device;
    };
    std::vector<Port> ports_;
    VfioMaps vfio_;
};

} // namespace mrz
