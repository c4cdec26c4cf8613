// SPDX-License-Identifier: BSD-3-Clause
#include "checksum.hpp"

#include <rte_hash_crc.h>

namespace mrz {

std::uint32_t crc32c(std::span<const std::byte> bytes) noexcept
{
    // DPDK's is without the inversions at begin and end.
    return ~rte_hash_crc(bytes.data(), static_cast<std::uint32_t>(bytes.size()), ~std::uint32_t{0});
}

} // namespace mrz
