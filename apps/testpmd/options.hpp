// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! mrz-testpmd's command line.
#pragma once

#include "engine.hpp"
#include "packet_memory.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace mrz::testpmd {

//! Which port the packets of a port go to.
enum class Topology {
    paired,  //!< 0 and 1, 2 and 3, …; the last of an odd number to itself.
    chained, //!< Each to the next, the last to the first.
    loop,    //!< Each to itself.
};

struct PortOptions {
    bool rx_checksums = false;     //!< Let the device check those of received packets, where it can.
    std::uint64_t tx_offloads = 0; //!< RTE_ETH_TX_OFFLOAD_…, of which the device gets those that it has.
    std::uint16_t rx_queues = 1;
    std::uint16_t tx_queues = 1;
    std::uint16_t rx_descriptors = 0; //!< 0: what the driver prefers.
    std::uint16_t tx_descriptors = 0;
    std::optional<std::uint32_t> max_packet = {}; //!< Bytes, with the Ethernet header and the checksum.
};

struct ForwardOptions {
    const Engine* engine = nullptr;
    std::uint16_t burst = 32;
    PacketShape shape = {};
    Topology topology = Topology::paired;
    unsigned cores = 1;                                 //!< Lcores that forward.
    std::vector<unsigned> lcores = {};                  //!< Those of --coremask; empty: the first workers.
    std::map<std::uint16_t, rte_ether_addr> peers = {}; //!< By transmit port.
    bool lookup = false;

    //! How many lcores are to forward.
    [[nodiscard]] std::size_t lcore_count() const noexcept { return lcores.empty() ? cores : lcores.size(); }
};

struct Options {
    std::vector<std::string> eal; //!< For the EAL, without the program's name.
    MemoryOptions memory = {};
    PortOptions port = {};
    ForwardOptions forward = {};
    bool interactive = false;
    bool auto_start = false;
    bool tx_first = false;
    unsigned stats_period = 0; //!< Seconds; 0: none.
    std::string command_file;
    //! What to print instead of all else: the help, or the version.
    std::optional<std::string> text = {};
};

//! The EAL's arguments, then "--", then ours. Throws Error (invalid).
Options parse_options(int argc, char** argv);

//! "64" or "64,128": the segments of packets that engines make. Throws Error (invalid).
PacketShape parse_shape(std::string_view text);

} // namespace mrz::testpmd
