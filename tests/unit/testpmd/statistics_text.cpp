// SPDX-License-Identifier: BSD-3-Clause
// The texts are what dpdk-testpmd 22.11 prints for these counts, since programs read them.
#include "testpmd/statistics_text.hpp"

#include <gtest/gtest.h>

#include <string>

namespace mrz::testpmd {
namespace {

using namespace std::chrono_literals;

TEST(StatisticsText, OfAPortIsTestpmds)
{
    const ForwardCounts counts{.rx_packets = 1234, .rx_dropped = 6, .tx_packets = 1200, .tx_dropped = 34};
    EXPECT_EQ(port_forward_text(0, counts, {}),
              "\n  ---------------------- Forward statistics for port 0  ----------------------\n"
              "  RX-packets: 1234           RX-dropped: 6             RX-total: 1240\n"
              "  TX-packets: 1200           TX-dropped: 34            TX-total: 1234\n"
              "  ----------------------------------------------------------------------------\n");
    EXPECT_NE(port_forward_text(12, counts, {}).find("for port 12 -----"), std::string::npos);
}

TEST(StatisticsText, OfAllPortsIsTestpmds)
{
    ForwardCounts sum{.rx_packets = 1, .tx_packets = 2};
    sum += {.rx_packets = 10, .rx_dropped = 3, .tx_packets = 20, .tx_dropped = 4};
    EXPECT_EQ(sum_forward_text(sum, {}),
              "\n  +++++++++++++++ Accumulated forward statistics for all ports+++++++++++++++\n"
              "  RX-packets: 11             RX-dropped: 3             RX-total: 14\n"
              "  TX-packets: 22             TX-dropped: 4             TX-total: 26\n"
              "  ++++++++++++++++++++++++++++++++++++++++++++++++++++++++++++++++++++++++++++\n");
}

TEST(StatisticsText, SaysOfSumsKeysAndErrorsOnlyWhereThereAreSuch)
{
    const ForwardCounts counts{
        .rx_errors = 2, .rx_no_buffer = 1, .bad_ip_sum = 5, .bad_l4_sum = 7, .keys_found = 9, .keys_missing = 8};
    const std::string all = port_forward_text(0, counts, {.checksums = true, .keys = true});
    EXPECT_NE(all.find("  Bad-ipcsum: 5              Bad-l4csum: 7\n"), std::string::npos) << all;
    EXPECT_NE(all.find("  RX-error: 2\n  RX-nombufs: 1 "), std::string::npos) << all;
    EXPECT_NE(all.find("  Keys-found: 9              Keys-missing: 8\n"), std::string::npos) << all;
    const std::string none = port_forward_text(0, {.bad_ip_sum = 5, .keys_found = 9}, {});
    EXPECT_EQ(none.find("Bad-"), std::string::npos);
    EXPECT_EQ(none.find("RX-error"), std::string::npos);
    EXPECT_EQ(none.find("Keys-"), std::string::npos);
}

TEST(StatisticsText, OfAStreamIsTestpmds)
{
    const StreamPath path{.rx_port = 0, .rx_queue = 1, .tx_port = 1, .tx_queue = 10};
    EXPECT_EQ(stream_forward_text(path, {.rx_packets = 5, .tx_packets = 4, .tx_dropped = 1}, {}),
              "\n  ------- Forward Stats for RX Port= 0/Queue= 1 -> TX Port= 1/Queue=10 -------\n"
              "  RX-packets: 5              TX-packets: 4              TX-dropped: 1             \n");
    EXPECT_EQ(stream_forward_text(path, {}, {}), "");
}

TEST(StatisticsText, OfADeviceIsTestpmds)
{
    rte_eth_stats before{};
    before.ipackets = 1000;
    before.ibytes = 64000;
    rte_eth_stats now = before;
    now.ipackets += 500;
    now.ibytes += 32000;
    now.imissed = 3;
    now.opackets = 7;
    EXPECT_EQ(device_statistics_text(1, now, before, 250ms),
              "\n  ######################## NIC statistics for port 1  ########################\n"
              "  RX-packets: 1500       RX-missed: 3          RX-bytes:  96000\n"
              "  RX-errors: 0\n"
              "  RX-nombuf:  0         \n"
              "  TX-packets: 7          TX-errors: 0          TX-bytes:  0\n"
              "\n"
              "  Throughput (since last show)\n"
              "  Rx-pps:         2000          Rx-bps:      1024000\n"
              "  Tx-pps:           28          Tx-bps:            0\n"
              "  ############################################################################\n");
}

TEST(StatisticsText, HasNoRateWithoutATimeOrAfterCountersWereCleared)
{
    rte_eth_stats many{};
    many.ipackets = 1000;
    const std::string first = device_statistics_text(0, many, {}, 0ns);
    EXPECT_NE(first.find("Rx-pps:            0 "), std::string::npos) << first;
    const std::string cleared = device_statistics_text(0, {}, many, 1s);
    EXPECT_NE(cleared.find("Rx-pps:            0 "), std::string::npos) << cleared;
}

} // namespace
} // namespace mrz::testpmd
