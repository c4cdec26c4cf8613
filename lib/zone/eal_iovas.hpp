// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! What DPDK calls the IOVAs of memory.
#pragma once

#include <mrzone/hugepage.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace mrz {

//! The EAL IOVAs of a window, one for each 2 MiB: what DPDK calls by this name is a DMA address in mode PA and a
//! virtual one in mode VA. Empty where mode PA would need frames that nobody may read.
std::vector<std::uint64_t> eal_iovas(const Window& window);

//! Memory that is contiguous in virtual address and in EAL IOVA.
struct EalRange {
    std::byte* address;
    std::uint64_t iova;
    std::size_t length; //!< Bytes.
};
//! The longest ranges that make up a window, in order. Empty as above.
std::vector<EalRange> eal_ranges(const Window& window);

} // namespace mrz
