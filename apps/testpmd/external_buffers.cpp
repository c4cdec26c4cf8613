// SPDX-License-Identifier: BSD-3-Clause
#include "external_buffers.hpp"

#include <mrzone/hugepage.hpp>

#include <rte_memory.h>

#include <algorithm>
#include <vector>

namespace mrz::testpmd {
namespace {

std::uint16_t element_size(std::uint16_t size)
{
    return static_cast<std::uint16_t>(RTE_ALIGN_CEIL(std::uint32_t{size}, std::uint32_t{RTE_CACHE_LINE_SIZE}));
}

rte_iova_t iova_of(std::byte* address)
{
    const rte_memseg* const page = rte_mem_virt2memseg(address, nullptr);
    if (page == nullptr || page->iova == RTE_BAD_IOVA)
        return RTE_BAD_IOVA;
    return page->iova + static_cast<rte_iova_t>(address - static_cast<std::byte*>(page->addr));
}

// Pieces that are one run for a device, too. Where EAL IOVAs are virtual addresses that is all of it.
std::vector<rte_pktmbuf_extmem> pieces_of(const rte_memzone& data, std::uint16_t element)
{
    std::vector<rte_pktmbuf_extmem> pieces;
    auto* const begin = static_cast<std::byte*>(data.addr);
    for (std::size_t offset = 0; offset < data.len;) {
        const std::size_t length = std::min(data.len - offset, Window::header_size);
        const rte_iova_t iova = iova_of(begin + offset);
        if (!pieces.empty() && pieces.back().buf_iova + pieces.back().buf_len == iova)
            pieces.back().buf_len += length;
        else
            pieces.push_back({.buf_ptr = begin + offset, .buf_iova = iova, .buf_len = length, .elt_size = element});
        offset += length;
    }
    return pieces;
}

} // namespace

std::size_t external_bytes(std::uint32_t buffers, std::uint16_t size)
{
    const std::size_t in_a_page = Window::header_size / element_size(size);
    return (buffers + in_a_page - 1) / in_a_page * Window::header_size;
}

rte_mempool* make_external_pool(const std::string& name, std::uint32_t buffers, std::uint32_t cache,
                                std::uint16_t size, int socket, const rte_memzone& data)
{
    const std::vector<rte_pktmbuf_extmem> pieces = pieces_of(data, element_size(size));
    return rte_pktmbuf_pool_create_extbuf(name.c_str(), buffers, cache, 0, size, socket, pieces.data(),
                                          static_cast<unsigned>(pieces.size()));
}

} // namespace mrz::testpmd
