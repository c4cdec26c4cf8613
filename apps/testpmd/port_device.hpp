// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! What is behind a port, and what its driver stands beyond what ethdev tells of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mrz::testpmd {

struct PortDevice {
    std::uint16_t port = 0;
    std::string driver;        //!< "net_af_packet".
    std::string arguments;     //!< Of the device: "iface=eth0".
    std::optional<int> node{}; //!< That it is near to.
};

//! Of all ports of the EAL. Throws Error (invalid, ENODEV) if there is none.
std::vector<PortDevice> port_devices();
//! The node that all are near to, if there is one.
std::optional<int> common_node(const std::vector<PortDevice>& devices);

//! Whether what is behind the port maps memory by DPDK's table of it, of which it can be given all but external
//! heaps: packets in an arena are not seen by virtio-user's peer, which drops them, and memif's does not even
//! connect.
bool shares_memory_by_table(const PortDevice& device);
//! Not where the pool's own memory is the device's ring, which is apart from external buffers: AF_XDP.
bool takes_external_buffers(const PortDevice& device);
//! AF_XDP sends the first segment of a packet, and says nothing; others without the offload do better.
bool sends_all_segments(std::string_view driver);
//! Bytes of the packets that a device makes up, which it writes whatever a buffer holds (net_null); 0: none.
std::uint64_t made_packet_bytes(const PortDevice& device);

} // namespace mrz::testpmd
