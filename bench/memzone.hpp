// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Memory from DPDK's own heap.
#pragma once

#include "subject.hpp"

#include <rte_errno.h>
#include <rte_memzone.h>

#include <span>
#include <stdexcept>
#include <string>

namespace bench {

//! `size` bytes in one piece. Needs a running EAL: see prepare().
class Memzone {
  public:
    Memzone() : zone_{rte_memzone_reserve("bench", size, SOCKET_ID_ANY, 0)}
    {
        if (zone_ == nullptr)
            throw std::runtime_error{std::string{"rte_memzone_reserve: "} + rte_strerror(rte_errno)};
    }
    Memzone(const Memzone&) = delete;
    Memzone& operator=(const Memzone&) = delete;
    ~Memzone() { rte_memzone_free(zone_); }

    [[nodiscard]] const void* address() const noexcept { return zone_->addr; }
    [[nodiscard]] std::span<std::byte> bytes() const noexcept { return {static_cast<std::byte*>(zone_->addr), size}; }

  private:
    const rte_memzone* zone_;
};

} // namespace bench
