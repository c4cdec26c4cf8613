// SPDX-License-Identifier: BSD-3-Clause
#include "plain_hugepages.hpp"

#include <mrzone/base.hpp>

#include <bit>
#include <cerrno>
#include <cstring>

#include <linux/mman.h>
#include <sys/mman.h>

namespace mrz::app {
namespace {

[[noreturn]] void cannot_map(int error, std::size_t size, std::size_t page_size)
{
    const bool old = error == EINVAL;
    throw Error{
        error, Cause{.trouble = old ? Trouble::unsupported : Trouble::hugepages,
                     .what = "a plain mapping of " + format_size(size) + " in hugepages of " + format_size(page_size),
                     .limit = std::strerror(error),
                     .need = size,
                     .remedy = old ? "Linux 5.14 or later is needed" : "free hugepages, or ask for less"}};
}

} // namespace

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
