// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! The configuration space of a PCIe endpoint with one BAR, MSI-X, power management and function-level reset.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace mrz::pci {

struct Function {
    std::uint16_t vendor = 0;
    std::uint16_t device = 0;
    std::uint16_t subsystem_vendor = 0;
    std::uint16_t subsystem = 0;
    std::uint8_t revision = 0;
    std::uint32_t class_code = 0; //!< 24 bits: class, subclass, interface.
    std::uint64_t bar_bytes = 0;  //!< Of BAR 0, which is 64-bit and prefetchable: a power of two, at least 4 KiB.
    unsigned vectors = 1;         //!< MSI-X: 1 to 2048.
    std::uint32_t msix_table = 0; //!< In BAR 0, multiples of 8.
    std::uint32_t msix_pending = 0;
};

//! Bytes as the guest sees them: little endian. Used by one thread.
class ConfigSpace {
  public:
    static constexpr std::size_t bytes = 4096;

    //! Throws Error (invalid, EINVAL) for a function that cannot be.
    explicit ConfigSpace(const Function& function);

    //! \p offset and the length are inside.
    void read(std::uint64_t offset, std::span<std::byte> into) const noexcept;
    //! Changes what may be written, and nothing else. \return whether a reset of the function was asked for, which
    //! the caller does.
    [[nodiscard]] bool write(std::uint64_t offset, std::span<const std::byte> from) noexcept;
    //! As after power-on.
    void reset() noexcept { values_ = initial_; }

    //! Whether the guest reaches BAR 0, and where.
    [[nodiscard]] bool memory_enabled() const noexcept;
    [[nodiscard]] std::uint64_t bar() const noexcept;
    //! Whether the function may read and write memory, and interrupt.
    [[nodiscard]] bool bus_master() const noexcept;

  private:
    using Space = std::array<std::uint8_t, bytes>;

    //! A field of 1 to 4 bytes: its value, and the bits that may be written.
    template <class Number>
    void put(std::size_t at, Number value, Number writable = 0) noexcept;
    [[nodiscard]] std::uint32_t get(std::size_t at, unsigned length) const noexcept;
    void put_header(const Function& function) noexcept;
    void put_power_management() noexcept;
    void put_pcie() noexcept;
    void put_msix(const Function& function) noexcept;

    Space initial_{};
    Space writable_{};
    Space values_{};
};

} // namespace mrz::pci
