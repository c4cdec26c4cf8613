// SPDX-License-Identifier: BSD-3-Clause
#include "../engine_loop.hpp"
#include "all.hpp"
#include "packet_maker.hpp"

namespace mrz::testpmd {
namespace {

class Txonly {
  public:
    static constexpr bool sends = true;

    explicit Txonly(Stream& stream) noexcept
        : maker_{{.destination = stream.peer,
                  .source = stream.tx_address,
                  .source_ip = RTE_IPV4(198, 18, 0, 1), // RFC 2544's addresses for benchmarks
                  .destination_ip = RTE_IPV4(198, 18, 0, 2),
                  .source_port = discard,
                  .destination_port = discard},
                 stream.shape,
                 stream.pool}
    {
    }

    std::uint16_t make(rte_mbuf** packets, std::uint16_t count) const noexcept
    {
        return maker_.make(packets, count, [this]() -> const MadeHeaders& { return maker_.headers(); });
    }

  private:
    static constexpr std::uint16_t discard = 9; // RFC 863

    PacketMaker maker_;
};

} // namespace

const Engine txonly = make_engine<Txonly>("txonly", "sends UDP packets, and receives none");

} // namespace mrz::testpmd
