// SPDX-License-Identifier: BSD-3-Clause
#include "touched_memory.hpp"

#include "machine.hpp"
#include "subject.hpp"

#include <linux/mman.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <fstream>
#include <string>
#include <system_error>

namespace bench {

namespace {

std::span<std::byte> map(std::size_t length, int flags)
{
    void* address = mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
    if (address == MAP_FAILED)
        throw std::system_error{errno, std::generic_category(), "mmap"};
    return {static_cast<std::byte*>(address), length};
}

void advise(std::span<std::byte> memory, int advice, const char* call)
{
    if (madvise(memory.data(), memory.size(), advice) != 0)
        throw std::system_error{errno, std::generic_category(), call};
}

} // namespace

const char* name(Pages pages) noexcept
{
    switch (pages) {
    case Pages::small:
        return "4K";
    case Pages::transparent:
        return "THP";
    case Pages::huge_2m:
        return "2M";
    case Pages::huge_1g:
        break;
    }
    return "1G";
}

TouchedMemory::TouchedMemory(Pages pages, std::size_t length)
{
    if (pages == Pages::huge_1g) {
        bytes_ = gigabyte_page().first(length);
        return;
    }
    if (pages == Pages::huge_2m)
        prepare();
    // One hugepage more, so that what is used can begin where a hugepage can.
    const bool aligns = pages == Pages::transparent;
    mapping_ = map(length + (aligns ? page_size : 0), pages == Pages::huge_2m ? MAP_HUGETLB | MAP_HUGE_2MB : 0);
    const auto begin = reinterpret_cast<std::uintptr_t>(mapping_.data());
    bytes_ = mapping_.subspan(aligns ? (page_size - begin % page_size) % page_size : 0, length);
    try {
        if (pages == Pages::small)
            advise(bytes_, MADV_NOHUGEPAGE, "MADV_NOHUGEPAGE");
        if (pages == Pages::transparent && madvise(bytes_.data(), bytes_.size(), MADV_HUGEPAGE) != 0)
            throw Unavailable{"this kernel has no transparent hugepages"};
        advise(bytes_, MADV_POPULATE_WRITE, "MADV_POPULATE_WRITE");
        if (pages == Pages::transparent && transparent_percent() == 0)
            throw Unavailable{"the kernel gave no transparent hugepages "
                              "(/sys/kernel/mm/transparent_hugepage/enabled may say never)"};
    } catch (...) {
        munmap(mapping_.data(), mapping_.size());
        throw;
    }
}

TouchedMemory::~TouchedMemory()
{
    if (!mapping_.empty())
        munmap(mapping_.data(), mapping_.size());
}

double TouchedMemory::transparent_percent() const
{
    const auto wanted = reinterpret_cast<std::uintptr_t>(bytes_.data());
    std::ifstream smaps{"/proc/self/smaps"};
    bool here = false;
    for (std::string line; std::getline(smaps, line);) {
        std::uintptr_t from = 0;
        std::uintptr_t to = 0;
        std::uint64_t kibibytes = 0;
        if (std::sscanf(line.c_str(), "%" SCNxPTR "-%" SCNxPTR " ", &from, &to) == 2)
            here = from <= wanted && wanted < to;
        else if (here && std::sscanf(line.c_str(), "AnonHugePages: %" SCNu64 " kB", &kibibytes) == 1)
            return 100 * static_cast<double>(kibibytes) * 1024 / static_cast<double>(bytes_.size());
    }
    return 0;
}

} // namespace bench
