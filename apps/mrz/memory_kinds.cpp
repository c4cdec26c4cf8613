// SPDX-License-Identifier: BSD-3-Clause
#include "memory_kinds.hpp"

#include <rte_errno.h>
#include <rte_memory.h>
#include <rte_memzone.h>

#include <cerrno>

namespace mrz::app {
namespace {

unsigned memzone_flags(std::size_t page_size)
{
    if (page_size == 2_MiB)
        return RTE_MEMZONE_2MB;
    return page_size == 1_GiB ? RTE_MEMZONE_1GB : 0;
}

} // namespace

void DpdkMemory::Free::operator()(const rte_memzone* zone) const noexcept
{
    rte_memzone_free(zone);
}

DpdkMemory::DpdkMemory(std::size_t size, std::size_t page_size)
    : zone_{rte_memzone_reserve_aligned("mrz_plain", size, SOCKET_ID_ANY, memzone_flags(page_size),
                                        static_cast<unsigned>(page_size))},
      size_{size}
{
    if (zone_ == nullptr)
        throw Error{rte_errno > 0 ? rte_errno : ENOMEM,
                    Cause{.trouble = Trouble::hugepages,
                          .what = "a memzone of " + format_size(size) + " from DPDK's own memory",
                          .limit = "pages that DPDK could take, bytes in one piece",
                          .need = size,
                          .remedy = "try a smaller --size"}};
}

std::span<std::byte> DpdkMemory::bytes() const noexcept
{
    return {static_cast<std::byte*>(zone_->addr), size_};
}

} // namespace mrz::app
