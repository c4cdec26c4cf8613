// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! The messages of vfio-user, as QEMU's docs/interop/vfio-user.rst has them. All numbers are in the byte order of
//! this machine. The bits of flags are those of <linux/vfio.h>.
#pragma once

#include <cstddef>
#include <cstdint>

namespace mrz::vfio_user {

enum class Command : std::uint16_t {
    version = 1,
    dma_map = 2,
    dma_unmap = 3,
    device_get_info = 4,
    device_get_region_info = 5,
    device_get_region_io_fds = 6,
    device_get_irq_info = 7,
    device_set_irqs = 8,
    region_read = 9,
    region_write = 10,
    device_reset = 13,
    region_write_multi = 15,
};

//! Before every message.
struct Header {
    std::uint16_t id = 0;
    Command command = {};
    std::uint32_t size = 0; //!< Of the message, this included.
    std::uint32_t flags = 0;
    std::uint32_t error = 0; //!< An errno, in a reply that has flag_error.
};
static_assert(sizeof(Header) == 16);

inline constexpr std::uint32_t type_mask = 0xf;
inline constexpr std::uint32_t type_command = 0;
inline constexpr std::uint32_t type_reply = 1;
inline constexpr std::uint32_t flag_no_reply = 1 << 4;
inline constexpr std::uint32_t flag_error = 1 << 5;

struct Version {
    std::uint16_t major = 0;
    std::uint16_t minor = 0;
    // JSON that ends with a NUL follows.
};
static_assert(sizeof(Version) == 4);

struct DmaMap {
    std::uint32_t argsz = 0;
    std::uint32_t flags = 0;
    std::uint64_t offset = 0;
    std::uint64_t address = 0;
    std::uint64_t size = 0;
};
static_assert(sizeof(DmaMap) == 32);

struct DmaUnmap {
    std::uint32_t argsz = 0;
    std::uint32_t flags = 0;
    std::uint64_t address = 0;
    std::uint64_t size = 0;
};
static_assert(sizeof(DmaUnmap) == 24);

struct DeviceInfo {
    std::uint32_t argsz = 0;
    std::uint32_t flags = 0;
    std::uint32_t regions = 0;
    std::uint32_t irqs = 0;
};
static_assert(sizeof(DeviceInfo) == 16);

struct RegionInfo {
    std::uint32_t argsz = 0;
    std::uint32_t flags = 0;
    std::uint32_t index = 0;
    std::uint32_t cap_offset = 0;
    std::uint64_t size = 0;
    std::uint64_t offset = 0;
};
static_assert(sizeof(RegionInfo) == 32);

struct IrqInfo {
    std::uint32_t argsz = 0;
    std::uint32_t flags = 0;
    std::uint32_t index = 0;
    std::uint32_t count = 0;
};
static_assert(sizeof(IrqInfo) == 16);

struct IrqSet {
    std::uint32_t argsz = 0;
    std::uint32_t flags = 0;
    std::uint32_t index = 0;
    std::uint32_t start = 0;
    std::uint32_t count = 0;
    // A byte for each interrupt may follow.
};
static_assert(sizeof(IrqSet) == 20);

struct RegionAccess {
    std::uint64_t offset = 0;
    std::uint32_t region = 0;
    std::uint32_t count = 0;
    // The bytes follow where there are some.
};
static_assert(sizeof(RegionAccess) == 16);

struct WriteMulti {
    std::uint64_t count = 0;
    // Of each write a RegionAccess and 8 bytes follow.
};
static_assert(sizeof(WriteMulti) == 8);

//! What this end says that it takes.
inline constexpr std::uint32_t most_files = 8;      //!< With one message.
inline constexpr std::uint32_t most_data = 1 << 16; //!< Of one access to a region.
inline constexpr std::uint32_t most_message = sizeof(Header) + sizeof(RegionAccess) + most_data;

} // namespace mrz::vfio_user
