// SPDX-License-Identifier: BSD-3-Clause
#include "memory_kinds.hpp"

#include <rte_errno.h>
#include <rte_memory.h>
#include <rte_memzone.h>

#include <bit>
#include <cerrno>
#include <cstring>

#include <linux/mman.h>
#include <sys/mman.h>

namespace mrz::app {
namespace {

unsigned memzone_flags(std::size_t page_size)
{
    if (page_size == 2_MiB)
        return RTE_MEMZONE_2MB;
    return page_size == 1_GiB ? RTE_MEMZONE_1GB : 0;
}

[[noreturn]] void cannot_map(int error, std::size_t size, std::size_t page_size)
{
    const bool old = error == EINVAL;
    throw Error{
        error, Cause{.trouble = old ? Trouble::unsupported : Trouble::hugepages,
                     .what = "a plain mapping of " + format_size(size) + " in hugepages of " + format_size(page_size),
                     .limit = std::strerror(error),
                     .need = size,
                     .remedy = old ? "Linux 5.14 or later is needed" : "try a smaller --size"}};
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

PlainHugepages::PlainHugepages(std::size_t size, std::size_t page_size) : size_{size}
{
    const int pages = std::countr_zero(page_size) << MAP_HUGE_SHIFT;
    address_ =
        ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | pages, -1, 0);
    if (address_ == MAP_FAILED)
        cannot_map(errno, size, page_size);
    // A page that a control group refuses is an error here, and a signal where it is touched.
    while (::madvise(address_, size, MADV_POPULATE_WRITE) != 0) {
        const int error = errno;
        if (error == EINTR || error == EAGAIN)
            continue;
        ::munmap(address_, size);
        cannot_map(error, size, page_size);
    }
}

PlainHugepages::~PlainHugepages()
{
    ::munmap(address_, size_);
}

} // namespace mrz::app
