// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Telling damaged bytes. Private to this floor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace mrz {

//! CRC-32C as iSCSI has it (RFC 3720, appendix B.4): of "123456789" it is 0xe3069283.
std::uint32_t crc32c(std::span<const std::byte> bytes) noexcept;

} // namespace mrz
