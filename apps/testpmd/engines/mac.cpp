// SPDX-License-Identifier: BSD-3-Clause
#include "../engine_loop.hpp"
#include "all.hpp"
#include "ethernet.hpp"

#include <span>

namespace mrz::testpmd {
namespace {

class Mac {
  public:
    static constexpr bool sends = true;

    explicit Mac(Stream& stream) noexcept : addresses_{stream.peer, stream.tx_address} {}

    std::uint16_t handle(rte_mbuf** packets, std::uint16_t count) const noexcept
    {
        // A copy, which packets cannot overlap, stays in registers.
        const Addresses to = addresses_;
        for (rte_mbuf* packet : std::span{packets, count})
            to.write(packet);
        return count;
    }

  private:
    Addresses addresses_;
};

} // namespace

const Engine mac = make_engine<Mac>("mac", "sends packets on to the peer, from the sending port's address");

} // namespace mrz::testpmd
