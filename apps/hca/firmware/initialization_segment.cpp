// SPDX-License-Identifier: BSD-3-Clause
#include "firmware/initialization_segment.hpp"

namespace mrz::firmware {

namespace {

// Linux's include/linux/mlx5/device.h, struct mlx5_init_seg.
enum : std::uint64_t {
    at_firmware_revision = 0x0,
    at_interface_revision = 0x4,
    at_queue_high = 0x10,
    at_queue_low = 0x14,
    at_doorbell = 0x18,
    at_health_firmware_version = 0x230,
    at_timer_high = 0x1000,
    at_timer_low = 0x1004,
    at_health_counter = 0x1010,
};

// A ConnectX-5's, of those that these drivers know.
constexpr std::uint32_t major = 16;
constexpr std::uint32_t minor = 35;
constexpr std::uint32_t subminor = 1000;
constexpr std::uint32_t command_interface = 5; // cmd.c, CMD_IF_REV

// drivers/net/ethernet/mellanox/mlx5/core/mlx5_core.h, MLX5_NIC_IFC_…
constexpr std::uint32_t interface_full = 0;
constexpr std::uint32_t interface_disabled = 1;
constexpr unsigned interface_shift = 8;
constexpr std::uint32_t interface_mask = 7;

constexpr std::uint32_t queue_mask = ~std::uint32_t{0xfff};

} // namespace

void InitializationSegment::read(std::uint64_t offset, std::span<std::byte> into)
{
    for (std::size_t done = 0; done < into.size();) {
        const std::uint64_t at = offset + done;
        const std::uint32_t value = register_at(at & ~std::uint64_t{3});
        for (std::uint64_t byte = at % 4; byte < 4 && done < into.size(); ++byte)
            into[done++] = static_cast<std::byte>(value >> (8 * (3 - byte)));
    }
}

void InitializationSegment::write(std::uint64_t offset, std::span<const std::byte> from)
{
    if (offset % 4 != 0 || from.size() % 4 != 0) {
        log_once(Severity::warning, "the initialization segment is written in words of 32 bits, and ignores others");
        return;
    }
    for (std::size_t done = 0; done < from.size(); done += 4) {
        std::uint32_t value = 0;
        for (std::size_t byte = 0; byte < 4; ++byte)
            value = value << 8 | std::to_integer<std::uint32_t>(from[done + byte]);
        write_register(offset + done, value);
    }
}

void InitializationSegment::reset()
{
    queue_high_ = 0;
    queue_low_ = 0;
    nic_interface_ = interface_full;
}

std::uint64_t InitializationSegment::nanoseconds() const
{
    const std::chrono::nanoseconds passed = std::chrono::steady_clock::now() - start_;
    return static_cast<std::uint64_t>(passed.count());
}

std::uint32_t InitializationSegment::register_at(std::uint64_t offset)
{
    switch (offset) {
    case at_firmware_revision:
        return minor << 16 | major;
    case at_interface_revision:
        return command_interface << 16 | subminor;
    case at_queue_high:
        return queue_high_;
    case at_queue_low:
        return queue_low_ | nic_interface_ << interface_shift | log_slots << 4 | log_stride;
    case at_health_firmware_version:
        return major << 24 | minor << 16 | subminor;
    case at_timer_high: // the driver reads this half before and after the other
        return static_cast<std::uint32_t>(nanoseconds() >> 32);
    case at_timer_low:
        return static_cast<std::uint32_t>(nanoseconds());
    case at_health_counter:
        return ++health_counter_ & 0xffffff; // the driver takes a counter that stands still for a death
    default:
        return 0; // not initializing, no syndrome
    }
}

void InitializationSegment::write_register(std::uint64_t offset, std::uint32_t value)
{
    switch (offset) {
    case at_queue_high:
        queue_high_ = value;
        return;
    case at_queue_low: {
        queue_low_ = value & queue_mask;
        const std::uint32_t interface = value >> interface_shift & interface_mask;
        if (interface == nic_interface_)
            return;
        // Anything but "full" asks for an end: disabled, or a reset by software, which ends as disabled
        // (health.c, mlx5_error_sw_reset).
        nic_interface_ = interface == interface_full ? interface_full : interface_disabled;
        if (nic_interface_ == interface_disabled)
            told_.turn_off();
        return;
    }
    case at_doorbell:
        if (nic_interface_ == interface_full)
            told_.doorbell(DmaAddress{std::uint64_t{queue_high_} << 32 | queue_low_}, value);
        return;
    default:
        log_once(Severity::info, "the driver writes to " + format_hex(offset) + ", where there is no register");
    }
}

} // namespace mrz::firmware
