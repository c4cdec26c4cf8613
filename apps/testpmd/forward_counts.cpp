// SPDX-License-Identifier: BSD-3-Clause
#include "forward_counts.hpp"

namespace mrz::testpmd {
namespace {

constexpr std::uint64_t ForwardCounts::*all[] = {
    &ForwardCounts::rx_packets,   &ForwardCounts::rx_dropped, &ForwardCounts::rx_errors,
    &ForwardCounts::rx_no_buffer, &ForwardCounts::tx_packets, &ForwardCounts::tx_dropped,
    &ForwardCounts::bad_ip_sum,   &ForwardCounts::bad_l4_sum, &ForwardCounts::keys_found,
    &ForwardCounts::keys_missing,
};
static_assert(sizeof all / sizeof *all == sizeof(ForwardCounts) / sizeof(std::uint64_t));

} // namespace

ForwardCounts& ForwardCounts::operator+=(const ForwardCounts& other) noexcept
{
    for (const auto count : all)
        this->*count += other.*count;
    return *this;
}

ForwardCounts& ForwardCounts::operator-=(const ForwardCounts& earlier) noexcept
{
    for (const auto count : all)
        this->*count -= earlier.*count;
    return *this;
}

ForwardCounts counts_of(const Stream& stream) noexcept
{
    return {.rx_packets = stream.rx_packets.value(),
            .tx_packets = stream.tx_packets.value(),
            .tx_dropped = stream.dropped.value(),
            .bad_ip_sum = stream.bad_ip_sum.value(),
            .bad_l4_sum = stream.bad_l4_sum.value(),
            .keys_found = stream.keys_found.value(),
            .keys_missing = stream.keys_missing.value()};
}

} // namespace mrz::testpmd
