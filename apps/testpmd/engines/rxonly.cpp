// SPDX-License-Identifier: BSD-3-Clause
#include "../engine_loop.hpp"
#include "all.hpp"

namespace mrz::testpmd {
namespace {

class Rxonly {
  public:
    static constexpr bool sends = false;

    explicit Rxonly(Stream&) noexcept {}

    std::uint16_t handle(rte_mbuf** packets, std::uint16_t count) const noexcept
    {
        free_packets(packets, count);
        return 0;
    }
};

} // namespace

const Engine rxonly = make_engine<Rxonly>("rxonly", "receives packets and drops them");

} // namespace mrz::testpmd
