// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! What sort of device the firmware is to be.
#pragma once

#include <array>
#include <cstdint>

namespace mrz::firmware {

enum class LinkType : std::uint8_t { infiniband, ethernet };

struct Settings {
    LinkType link = LinkType::infiniband;
    std::uint64_t guid = 0x0215b3fffe101901; //!< Of node, system and port.
    std::array<std::uint8_t, 6> mac = {0x02, 0x15, 0xb3, 0x10, 0x19, 0x01};
    std::uint16_t lid = 1; //!< InfiniBand: as if a subnet manager had been here.

    //! Whether a UMR request may change how many translations a key has. Then the driver keeps a cache of keys and
    //! registers through UMR requests; else each registration is a CREATE_MKEY.
    bool umr_modifies_entity_size = true;

    unsigned vectors = 32; //!< MSI-X.
    std::uint64_t bar_bytes = 32U << 20;
    std::uint32_t first_uar = 256; //!< The page of the BAR that the first UAR is.
    unsigned log_max_eq = 6;
    unsigned log_max_eq_entries = 16;
    unsigned log_max_umem = 16;
    unsigned log_max_uctx = 12;
    // Ethernet:
    unsigned log_max_packet_queues = 12; //!< Of each kind.
    unsigned log_max_rqt_entries = 8;    //!< As Linux demands at least: MLX5E_INDIR_RQT_SIZE of its en/rqt.h.
    unsigned log_max_addresses = 7;      //!< Of each list of a port's.
    unsigned log_max_flow_tables = 12;
    unsigned log_max_flow_table_entries = 20;
    unsigned log_max_flows = 16;            //!< Entries of all tables that are set.
    unsigned log_max_flow_destinations = 4; //!< Of an entry.
    unsigned most_flow_table_level = 64;
    std::uint32_t boot_pages = 32; //!< 4 KiB each, that the driver is asked for; they are kept, not used.
    std::uint32_t init_pages = 64;
};

} // namespace mrz::firmware
