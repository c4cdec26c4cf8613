// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Pools whose packets' data lie apart from their headers: DPDK's pinned external buffers.
#pragma once

#include <rte_mbuf.h>
#include <rte_mempool.h>
#include <rte_memzone.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace mrz::testpmd {

//! Bytes of a pool's object: the packet's header, and DPDK's count of who uses its data.
constexpr std::size_t external_object_size = sizeof(rte_mbuf) + sizeof(rte_mbuf_ext_shared_info);

//! Bytes for the data of \p buffers, \p size bytes each, of which none crosses a page of 2 MiB.
std::size_t external_bytes(std::uint32_t buffers, std::uint16_t size);

//! \p data is external_bytes() of pages of 2 MiB. \return NULL with rte_errno if there is no memory for it.
rte_mempool* make_external_pool(const std::string& name, std::uint32_t buffers, std::uint32_t cache,
                                std::uint16_t size, int socket, const rte_memzone& data);

} // namespace mrz::testpmd
