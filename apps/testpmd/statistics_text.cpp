// SPDX-License-Identifier: BSD-3-Clause
#include "statistics_text.hpp"

#include <fmt/format.h>

namespace mrz::testpmd {
namespace {

std::string packet_lines(const ForwardCounts& counts)
{
    return fmt::format("  RX-packets: {:<14} RX-dropped: {:<14}RX-total: {}\n", counts.rx_packets, counts.rx_dropped,
                       counts.rx_packets + counts.rx_dropped);
}

std::string sent_lines(const ForwardCounts& counts)
{
    return fmt::format("  TX-packets: {:<14} TX-dropped: {:<14}TX-total: {}\n", counts.tx_packets, counts.tx_dropped,
                       counts.tx_packets + counts.tx_dropped);
}

std::string key_line(const ForwardCounts& counts)
{
    return fmt::format("  Keys-found: {:<14} Keys-missing: {}\n", counts.keys_found, counts.keys_missing);
}

//! A second's share of what was counted more; 0 after a counter was cleared.
std::uint64_t rate(std::uint64_t now, std::uint64_t before, std::chrono::nanoseconds elapsed)
{
    if (now <= before || elapsed.count() <= 0)
        return 0;
    return static_cast<std::uint64_t>(static_cast<double>(now - before) * 1e9 / static_cast<double>(elapsed.count()));
}

} // namespace

std::string port_forward_text(std::uint16_t port, const ForwardCounts& counts, CountKinds kinds)
{
    std::string text = fmt::format("\n  {0:-<22} Forward statistics for port {1:<2} {0:-<22}\n", "", port);
    text += packet_lines(counts);
    if (kinds.checksums)
        text += fmt::format("  Bad-ipcsum: {:<14} Bad-l4csum: {}\n", counts.bad_ip_sum, counts.bad_l4_sum);
    if (counts.rx_errors + counts.rx_no_buffer > 0)
        text += fmt::format("  RX-error: {}\n  RX-nombufs: {:<14}\n", counts.rx_errors, counts.rx_no_buffer);
    text += sent_lines(counts);
    if (kinds.keys)
        text += key_line(counts);
    return text + fmt::format("  {:-<76}\n", "");
}

std::string sum_forward_text(const ForwardCounts& sum, CountKinds kinds)
{
    std::string text = fmt::format("\n  {0:+<15} Accumulated forward statistics for all ports{0:+<15}\n", "");
    text += packet_lines(sum) + sent_lines(sum);
    if (sum.rx_no_buffer > 0)
        text += fmt::format("  RX-nombufs: {:<14}\n", sum.rx_no_buffer);
    if (kinds.keys)
        text += key_line(sum);
    return text + fmt::format("  {:+<76}\n", "");
}

std::string stream_forward_text(const StreamPath& path, const ForwardCounts& counts, CountKinds kinds)
{
    if (counts.rx_packets == 0 && counts.tx_packets == 0 && counts.tx_dropped == 0)
        return {};
    std::string text =
        fmt::format("\n  {0:-<7} Forward Stats for RX Port={1:2}/Queue={2:2} -> TX Port={3:2}/Queue={4:2} {0:-<7}\n",
                    "", path.rx_port, path.rx_queue, path.tx_port, path.tx_queue);
    text += fmt::format("  RX-packets: {:<14} TX-packets: {:<14} TX-dropped: {:<14}", counts.rx_packets,
                        counts.tx_packets, counts.tx_dropped);
    if (kinds.checksums)
        text += fmt::format("  RX- bad IP checksum: {:<14}  Rx- bad L4 checksum: {:<14}", counts.bad_ip_sum,
                            counts.bad_l4_sum);
    text += "\n";
    if (kinds.keys)
        text += key_line(counts);
    return text;
}

std::string device_statistics_text(std::uint16_t port, const rte_eth_stats& now, const rte_eth_stats& before,
                                   std::chrono::nanoseconds elapsed)
{
    std::string text = fmt::format("\n  {0:#<24} NIC statistics for port {1:<2} {0:#<24}\n", "", port);
    text +=
        fmt::format("  RX-packets: {:<10} RX-missed: {:<10} RX-bytes:  {}\n", now.ipackets, now.imissed, now.ibytes);
    text += fmt::format("  RX-errors: {}\n  RX-nombuf:  {:<10}\n", now.ierrors, now.rx_nombuf);
    text +=
        fmt::format("  TX-packets: {:<10} TX-errors: {:<10} TX-bytes:  {}\n", now.opackets, now.oerrors, now.obytes);
    text += fmt::format("\n  Throughput (since last show)\n"
                        "  Rx-pps: {:12}          Rx-bps: {:12}\n  Tx-pps: {:12}          Tx-bps: {:12}\n",
                        rate(now.ipackets, before.ipackets, elapsed), rate(now.ibytes, before.ibytes, elapsed) * 8,
                        rate(now.opackets, before.opackets, elapsed), rate(now.obytes, before.obytes, elapsed) * 8);
    return text + fmt::format("  {:#<76}\n", "");
}

} // namespace mrz::testpmd
