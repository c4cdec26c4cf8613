// SPDX-License-Identifier: BSD-3-Clause
#include "../engine_loop.hpp"
#include "all.hpp"
#include "ethernet.hpp"

#include <span>

namespace mrz::testpmd {
namespace {

class Macswap {
  public:
    static constexpr bool sends = true;

    explicit Macswap(Stream&) noexcept {}

    std::uint16_t handle(rte_mbuf** packets, std::uint16_t count) const noexcept
    {
        for (rte_mbuf* packet : std::span{packets, count})
            swap_addresses(packet);
        return count;
    }
};

} // namespace

const Engine macswap =
    make_engine<Macswap>("macswap", "sends packets on with source and destination MAC address swapped");

} // namespace mrz::testpmd
