// SPDX-License-Identifier: BSD-3-Clause
#include "pci/config_space.hpp"

#include <mrzone/base.hpp>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <string>

#include <linux/pci_regs.h>

namespace mrz::pci {
namespace {

// Where the capabilities lie, in the order of their list.
constexpr std::size_t power_management = 0x40;
constexpr std::size_t pcie = 0x60;
constexpr std::size_t msix = 0x9c;
constexpr std::uint8_t pcie_version = 2; // PCI_EXP_FLAGS_VERS

constexpr std::uint16_t power_states = PCI_PM_CTRL_STATE_MASK;
constexpr std::uint16_t d3hot = 3;

// 16 lanes of 16 GT/s, what a ConnectX-5 Ex has.
constexpr std::uint16_t link = PCI_EXP_LNKSTA_CLS_16_0GB | PCI_EXP_LNKSTA_NLW_X1 * 16;

void check(const Function& function)
{
    const auto refuse = [](std::string limit) {
        throw Error{EINVAL,
                    {.trouble = Trouble::invalid,
                     .what = "making a PCI function",
                     .limit = std::move(limit),
                     .remedy = "change it"}};
    };
    if (!std::has_single_bit(function.bar_bytes) || function.bar_bytes < 4_KiB || function.bar_bytes > 1_TiB)
        refuse("a BAR has a power of two of bytes, 4 KiB to 1 TiB");
    if (function.vectors < 1 || function.vectors > 2048)
        refuse("MSI-X has 1 to 2048 vectors");
    constexpr std::uint64_t bytes_of_vector = PCI_MSIX_ENTRY_SIZE;
    const std::uint64_t table_end = function.msix_table + function.vectors * bytes_of_vector;
    const std::uint64_t pending_end = function.msix_pending + (function.vectors + 63) / 64 * 8;
    if (function.msix_table % 8 != 0 || function.msix_pending % 8 != 0 || table_end > function.bar_bytes ||
        pending_end > function.bar_bytes || (function.msix_table < pending_end && function.msix_pending < table_end))
        refuse("the tables of MSI-X lie in the BAR, at multiples of 8, and do not overlap");
}

} // namespace

ConfigSpace::ConfigSpace(const Function& function)
{
    check(function);
    put_header(function);
    put_power_management();
    put_pcie();
    put_msix(function);
    reset();
}

template <class Number>
void ConfigSpace::put(std::size_t at, Number value, Number writable) noexcept
{
    for (std::size_t i = 0; i < sizeof value; ++i) {
        initial_[at + i] = static_cast<std::uint8_t>(value >> (8 * i));
        writable_[at + i] = static_cast<std::uint8_t>(writable >> (8 * i));
    }
}

std::uint32_t ConfigSpace::get(std::size_t at, unsigned length) const noexcept
{
    std::uint32_t value = 0;
    for (unsigned i = 0; i < length; ++i)
        value |= std::uint32_t{values_[at + i]} << (8 * i);
    return value;
}

void ConfigSpace::put_header(const Function& function) noexcept
{
    put(PCI_VENDOR_ID, function.vendor);
    put(PCI_DEVICE_ID, function.device);
    put(PCI_COMMAND, std::uint16_t{0},
        std::uint16_t{PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER | PCI_COMMAND_PARITY | PCI_COMMAND_SERR |
                      PCI_COMMAND_INTX_DISABLE});
    put(PCI_STATUS, std::uint16_t{PCI_STATUS_CAP_LIST});
    put(PCI_REVISION_ID, function.class_code << 8 | function.revision);
    put(PCI_CACHE_LINE_SIZE, std::uint8_t{0}, std::uint8_t{0xff});
    // The bits below its size read as zeros: so the guest learns it.
    const std::uint64_t addresses = ~(function.bar_bytes - 1);
    put(PCI_BASE_ADDRESS_0, std::uint32_t{PCI_BASE_ADDRESS_MEM_TYPE_64 | PCI_BASE_ADDRESS_MEM_PREFETCH},
        static_cast<std::uint32_t>(addresses));
    put(PCI_BASE_ADDRESS_1, std::uint32_t{0}, static_cast<std::uint32_t>(addresses >> 32));
    put(PCI_SUBSYSTEM_VENDOR_ID, function.subsystem_vendor);
    put(PCI_SUBSYSTEM_ID, function.subsystem);
    put(PCI_CAPABILITY_LIST, static_cast<std::uint8_t>(power_management));
    put(PCI_INTERRUPT_LINE, std::uint8_t{0}, std::uint8_t{0xff});
}

void ConfigSpace::put_power_management() noexcept
{
    put(power_management + PCI_CAP_LIST_ID, std::uint8_t{PCI_CAP_ID_PM});
    put(power_management + PCI_CAP_LIST_NEXT, static_cast<std::uint8_t>(pcie));
    put(power_management + PCI_PM_PMC, std::uint16_t{3}); // version 1.2; neither D1, D2 nor PME
    put(power_management + PCI_PM_CTRL, std::uint16_t{PCI_PM_CTRL_NO_SOFT_RESET}, power_states);
}

void ConfigSpace::put_pcie() noexcept
{
    put(pcie + PCI_CAP_LIST_ID, std::uint8_t{PCI_CAP_ID_EXP});
    put(pcie + PCI_CAP_LIST_NEXT, static_cast<std::uint8_t>(msix));
    put(pcie + PCI_EXP_FLAGS, std::uint16_t{PCI_EXP_TYPE_ENDPOINT << 4 | pcie_version});
    put(pcie + PCI_EXP_DEVCAP, std::uint32_t{PCI_EXP_DEVCAP_FLR | PCI_EXP_DEVCAP_RBER | PCI_EXP_DEVCAP_EXT_TAG |
                                             2 /* payload: 512 bytes */});
    // FLR is asked for by a bit that reads as zero.
    put(pcie + PCI_EXP_DEVCTL,
        std::uint16_t{PCI_EXP_DEVCTL_RELAX_EN | PCI_EXP_DEVCTL_NOSNOOP_EN | PCI_EXP_DEVCTL_READRQ_512B},
        std::uint16_t{PCI_EXP_DEVCTL_CERE | PCI_EXP_DEVCTL_NFERE | PCI_EXP_DEVCTL_FERE | PCI_EXP_DEVCTL_URRE |
                      PCI_EXP_DEVCTL_RELAX_EN | PCI_EXP_DEVCTL_PAYLOAD | PCI_EXP_DEVCTL_EXT_TAG |
                      PCI_EXP_DEVCTL_NOSNOOP_EN | PCI_EXP_DEVCTL_READRQ});
    put(pcie + PCI_EXP_LNKCAP, std::uint32_t{link});
    put(pcie + PCI_EXP_LNKCTL, std::uint16_t{0},
        std::uint16_t{PCI_EXP_LNKCTL_ASPMC | PCI_EXP_LNKCTL_RCB | PCI_EXP_LNKCTL_CCC | PCI_EXP_LNKCTL_ES});
    put(pcie + PCI_EXP_LNKSTA, link);
    put(pcie + PCI_EXP_DEVCAP2, std::uint32_t{PCI_EXP_DEVCAP2_COMP_TMOUT_DIS});
    put(pcie + PCI_EXP_DEVCTL2, std::uint16_t{0}, std::uint16_t{PCI_EXP_DEVCTL2_COMP_TMOUT_DIS});
    put(pcie + PCI_EXP_LNKCAP2, std::uint32_t{PCI_EXP_LNKCAP2_SLS_2_5GB | PCI_EXP_LNKCAP2_SLS_5_0GB |
                                              PCI_EXP_LNKCAP2_SLS_8_0GB | PCI_EXP_LNKCAP2_SLS_16_0GB});
    put(pcie + PCI_EXP_LNKCTL2, std::uint16_t{PCI_EXP_LNKCTL2_TLS_16_0GT}, std::uint16_t{PCI_EXP_LNKCTL2_TLS});
}

void ConfigSpace::put_msix(const Function& function) noexcept
{
    put(msix + PCI_CAP_LIST_ID, std::uint8_t{PCI_CAP_ID_MSIX});
    put(msix + PCI_CAP_LIST_NEXT, std::uint8_t{0});
    put(msix + PCI_MSIX_FLAGS, static_cast<std::uint16_t>(function.vectors - 1),
        std::uint16_t{PCI_MSIX_FLAGS_ENABLE | PCI_MSIX_FLAGS_MASKALL});
    put(msix + PCI_MSIX_TABLE, function.msix_table); // their low bits are the number of the BAR, 0
    put(msix + PCI_MSIX_PBA, function.msix_pending);
}

void ConfigSpace::read(std::uint64_t offset, std::span<std::byte> into) const noexcept
{
    for (std::size_t i = 0; i < into.size(); ++i)
        into[i] = std::byte{values_[offset + i]};
}

bool ConfigSpace::write(std::uint64_t offset, std::span<const std::byte> from) noexcept
{
    const auto state_before = static_cast<std::uint16_t>(get(power_management + PCI_PM_CTRL, 2) & power_states);
    for (std::size_t i = 0; i < from.size(); ++i) {
        std::uint8_t& value = values_[offset + i];
        const std::uint8_t mask = writable_[offset + i];
        value = static_cast<std::uint8_t>((value & ~mask) | (std::to_integer<std::uint8_t>(from[i]) & mask));
    }
    // A state that there is not leaves the state as it is (PCI Power Management 1.2, 3.2.4).
    std::uint8_t& power = values_[power_management + PCI_PM_CTRL];
    if ((power & power_states) != 0 && (power & power_states) != d3hot)
        power = static_cast<std::uint8_t>((power & ~power_states) | state_before);

    constexpr std::size_t reset_byte = pcie + PCI_EXP_DEVCTL + 1;
    static_assert(PCI_EXP_DEVCTL_BCR_FLR == 0x8000);
    return offset <= reset_byte && reset_byte < offset + from.size() &&
           (from[reset_byte - offset] & std::byte{0x80}) != std::byte{0};
}

bool ConfigSpace::memory_enabled() const noexcept
{
    return (get(PCI_COMMAND, 2) & PCI_COMMAND_MEMORY) != 0;
}

bool ConfigSpace::bus_master() const noexcept
{
    return (get(PCI_COMMAND, 2) & PCI_COMMAND_MASTER) != 0;
}

std::uint64_t ConfigSpace::bar() const noexcept
{
    return std::uint64_t{get(PCI_BASE_ADDRESS_1, 4)} << 32 |
           (get(PCI_BASE_ADDRESS_0, 4) & static_cast<std::uint32_t>(PCI_BASE_ADDRESS_MEM_MASK));
}

} // namespace mrz::pci
