// SPDX-License-Identifier: BSD-3-Clause
#include "../engine_loop.hpp"
#include "all.hpp"
#include "packet_maker.hpp"

#include <array>

namespace mrz::testpmd {
namespace {

//! testpmd takes the shape's length for one that counts the frame check sequence.
PacketShape without_check_sequence(PacketShape shape) noexcept
{
    std::uint32_t excess = std::min<std::uint32_t>(
        RTE_ETHER_CRC_LEN, shape.length() - std::min<std::uint32_t>(shape.length(), sizeof(MadeHeaders)));
    while (excess > 0 && shape.segments > 0) {
        std::uint16_t& last = shape.lengths[shape.segments - 1U];
        const auto cut = static_cast<std::uint16_t>(std::min<std::uint32_t>(excess, last));
        last = static_cast<std::uint16_t>(last - cut);
        excess -= cut;
        if (last == 0)
            --shape.segments;
    }
    return shape;
}

//! Addresses and ports are testpmd's. Each packet goes to the next of its addresses.
class Flowgen {
  public:
    static constexpr bool sends = true;
    static constexpr bool drains = true;

    explicit Flowgen(Stream& stream) noexcept
        : maker_{{.destination = {{0x00, 0x01, 0x02, 0x03, 0x04, 0x01}},
                  .source = {{0x00, 0x01, 0x02, 0x03, 0x04, 0x00}},
                  .source_ip = RTE_IPV4(10, 254, 0, 0),
                  .destination_ip = first_destination,
                  .source_port = 1000,
                  .destination_port = 1001},
                 without_check_sequence(stream.shape),
                 stream.pool}
    {
        headers_ = maker_.headers();
        for (std::uint32_t flow = 0; flow < flows; ++flow) {
            headers_.ip.dst_addr = rte_cpu_to_be_32(first_destination + flow);
            headers_.ip.hdr_checksum = 0;
            sums_[flow] = rte_ipv4_cksum(&headers_.ip);
        }
    }

    std::uint16_t make(rte_mbuf** packets, std::uint16_t count) noexcept
    {
        const std::uint32_t first = next_;
        const std::uint16_t made =
            maker_.make(packets, count, [this]() -> const MadeHeaders& { return next_headers(); });
        next_ = (first + made) % flows; // chains that were asked for and not made do not leave a gap
        return made;
    }

  private:
    static constexpr std::uint32_t flows = 1024; // testpmd's --flowgen-flows where nobody gives it
    static constexpr std::uint32_t first_destination = RTE_IPV4(10, 253, 0, 0);

    const MadeHeaders& next_headers() noexcept
    {
        headers_.ip.dst_addr = rte_cpu_to_be_32(first_destination + next_);
        headers_.ip.hdr_checksum = sums_[next_];
        next_ = (next_ + 1) % flows;
        return headers_;
    }

    PacketMaker maker_;
    MadeHeaders headers_;
    std::array<rte_be16_t, flows> sums_;
    std::uint32_t next_ = 0;
};

} // namespace

const Engine flowgen =
    make_engine<Flowgen>("flowgen", "sends UDP packets of 1024 flows in turn, and drops what it receives");

} // namespace mrz::testpmd
