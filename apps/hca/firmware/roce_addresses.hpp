// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! The addresses that an Ethernet port's RDMA is reached at, and sends from.
#pragma once

#include "layouts/vport.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <span>

namespace mrz::firmware {

using Gid = std::array<std::byte, 16>;
using Mac = std::array<std::byte, 6>;

//! An address, as the table's roce_addr_layout says it.
struct RoceAddress {
    //! Numbers are those of MLX5_ROCE_VERSION_… in Linux's include/linux/mlx5/device.h.
    enum class Version : std::uint8_t { v1 = 0, v2 = 2 };

    Gid gid{};
    Mac mac{};
    Version version = Version::v1;
    bool ipv4 = false; //!< Version 2: the GID is an IPv4 address, mapped.
    std::optional<std::uint16_t> vlan;
};

//! Thread-safe: commands set it, and packets are made by it.
class RoceAddresses {
  public:
    static constexpr std::size_t size = 256;
    using Bytes = std::array<std::byte, layouts::roce_addr_layout::bytes>;

    //! Throws Refusal: ix, bad_param. Without a GID the entry is empty.
    void set(std::uint64_t index, std::span<const std::byte> layout);
    //! As it was set; zeros if it never was. Throws Refusal, ix.
    [[nodiscard]] Bytes get(std::uint64_t index) const;
    void clear();

    [[nodiscard]] std::optional<RoceAddress> find(std::uint8_t index) const;
    //! Whether a packet that \p from sends to \p gid and \p mac is for this port: there is such an address, of the
    //! same version and VLAN.
    [[nodiscard]] bool takes(const RoceAddress& from, const Gid& gid, const Mac& mac) const;

  private:
    struct Entry {
        Bytes given;
        std::optional<RoceAddress> address;
    };

    mutable std::mutex mutex_;
    std::map<std::uint64_t, Entry> entries_;
};

} // namespace mrz::firmware
