// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! A packet through an engine that looks into it: nothing beyond its bytes is read or written, and none is lost.
#include "../support/eal.hpp"
#include "../unit/testpmd/wire.hpp"
#include "input.hpp"

#include <testpmd/engines/all.hpp>

#include <atomic>

using namespace mrz;
using namespace mrz::test;
using mrz::fuzz::Input;
using mrz::fuzz::require;

namespace {

rte_mempool& pool()
{
    static const Eal eal{{"--no-huge", "--no-shconf", "-m64"}};
    static rte_mempool* made = rte_pktmbuf_pool_create("fuzz", 15, 0, 0, RTE_PKTMBUF_HEADROOM + 1024, SOCKET_ID_ANY);
    require(made != nullptr);
    return *made;
}

//! What comes out while \p filler surrounds the packet.
std::vector<Bytes> through(const testpmd::Engine& engine, std::uint64_t offloads, const Bytes& bytes,
                           const std::vector<std::size_t>& cuts, std::uint8_t filler)
{
    std::vector<Bytes> out;
    {
        std::atomic<bool> stop = false;
        Wire wire{stop};
        testpmd::Stream stream;
        stream.rx_port = stream.tx_port = Wire::port;
        stream.rx_queue = stream.tx_queue = Wire::queue;
        stream.tx_offloads = offloads;
        wire.to_receive.push_back(make_packet(pool(), bytes, cuts, filler));
        engine.loop({&stream, 1}, stop);
        for (const rte_mbuf* packet : wire.sent) {
            require(spoilt(packet, filler) == 0);
            out.push_back(bytes_of(packet));
        }
    }
    require(rte_mempool_full(&pool()) == 1);
    return out;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    static constexpr const testpmd::Engine* engines[] = {&testpmd::icmpecho, &testpmd::csum,
                                                         &testpmd::five_tuple_swap, &testpmd::mac, &testpmd::macswap};
    Input input{data, size};
    const testpmd::Engine& engine = *engines[input.byte() % std::size(engines)];
    const std::uint64_t offloads =
        input.byte() % 2 == 0 ? 0 : RTE_ETH_TX_OFFLOAD_IPV4_CKSUM | RTE_ETH_TX_OFFLOAD_UDP_CKSUM;
    std::vector<std::size_t> cuts(input.byte() % 4U);
    for (std::size_t& cut : cuts)
        cut = input.byte();
    Bytes bytes;
    while (!input.empty() && bytes.size() < 1024)
        bytes.push_back(input.byte());

    const auto once = through(engine, offloads, bytes, cuts, 0x00);
    require(once == through(engine, offloads, bytes, cuts, 0x45));
    require(once.size() == 1 || &engine == &testpmd::icmpecho);
    require(once.empty() || once[0].size() == bytes.size());
    return 0;
}
