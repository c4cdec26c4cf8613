// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! The ways to have hugepages that commands compare with an arena.
#pragma once

#include "common/plain_hugepages.hpp"

#include <mrzone/base.hpp>

#include <cstddef>
#include <memory>
#include <span>

struct rte_memzone;

namespace mrz::app {

//! A memzone of the EAL's own memory. Aligned to the page size, which is kind to DPDK: an ordinary one begins in the
//! middle of a page and touches one page more.
class DpdkMemory {
  public:
    //! Throws Error: hugepages.
    DpdkMemory(std::size_t size, std::size_t page_size);

    [[nodiscard]] std::span<std::byte> bytes() const noexcept;

  private:
    struct Free {
        void operator()(const rte_memzone* zone) const noexcept;
    };
    std::unique_ptr<const rte_memzone, Free> zone_;
    std::size_t size_;
};

} // namespace mrz::app
