// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Ports whose devices know an arena's windows.
#pragma once

#include <mrzone/hugepage.hpp>
#include <mrzone/zone.hpp>

#include <cstdint>
#include <span>
#include <vector>

struct rte_device;

namespace mrz {

//! Not thread-safe. The windows must be part of a DPDK heap: rte_dev_dma_map looks them up.
class PortMaps {
  public:
    //! Maps \p windows for another port, once. Throws Error as Arena::map_for(), and then nothing is mapped for it.
    PortMapping add(std::uint16_t port, std::span<const Window> windows);
    //! Maps one more window for all ports. Throws Error, and then it is mapped for none.
    void add(const Window& window);
    //! Takes back what was mapped of a window. A port that is gone has taken its maps with it.
    void remove(const Window& window) noexcept;

  private:
    struct Port {
        std::uint16_t id;
        rte_device* device;
    };
    std::vector<Port> ports_;
};

} // namespace mrz
