// SPDX-License-Identifier: BSD-3-Clause
#include "dma/memory.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <string>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

namespace mrz::dma {
namespace {

constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();

[[noreturn]] void refuse(const char* what, int error, DmaAddress at, std::uint64_t bytes, std::string limit,
                         std::string remedy)
{
    throw Error{error,
                {.trouble = Trouble::invalid,
                 .what = std::string{what} + ' ' + format_size(bytes) + " of the guest at " + format_hex(at.value()),
                 .limit = std::move(limit),
                 .remedy = std::move(remedy)}};
}

[[noreturn]] void refuse(int error, const Range& range, std::string limit, std::string remedy)
{
    refuse("mapping", error, range.at, range.bytes, std::move(limit), std::move(remedy));
}

//! Throws unless the bytes are those of a file, and will be as long as it is mapped.
void check_file(int file, std::uint64_t offset, const Range& range)
{
    struct stat status {};
    if (::fstat(file, &status) != 0)
        refuse(errno, range, std::string{"fstat: "} + std::strerror(errno), "share memory");
    const auto size = static_cast<std::uint64_t>(std::max<off_t>(status.st_size, 0));
    if (offset > size || range.bytes > size - offset)
        refuse(EINVAL, range, "the file behind it has only " + format_size(size), "map what the file holds");
    // Whoever truncates a file makes of an access to its mapping a SIGBUS. Only memfds can promise not to.
    const int seals = ::fcntl(file, F_GET_SEALS);
    if (seals < 0 || (seals & F_SEAL_SHRINK) == 0)
        refuse(EINVAL, range, "the file behind it is not sealed against shrinking",
               "use -object memory-backend-memfd,share=on (seal=on is its default)");
}

//! What offset and length of a mapping of the file are multiples of: the page size, of hugetlbfs its own.
std::uint64_t granule(int file)
{
    struct stat status {};
    if (::fstat(file, &status) != 0 || status.st_blksize <= 0)
        return Memory::page;
    return std::max<std::uint64_t>(static_cast<std::uint64_t>(status.st_blksize), Memory::page);
}

} // namespace

Memory::Mapping::Mapping(int file, std::uint64_t offset, std::uint64_t bytes, bool writable)
{
    // Whole pages of its own size: less of hugetlbfs can be mapped, but not unmapped.
    const std::uint64_t whole = granule(file);
    const std::uint64_t before = offset % whole;
    length_ = (bytes + before + whole - 1) / whole * whole;
    start_ = ::mmap(nullptr, length_, PROT_READ | (writable ? PROT_WRITE : 0), MAP_SHARED, file,
                    static_cast<off_t>(offset - before));
    if (start_ == MAP_FAILED) {
        const int error = errno;
        throw Error{error,
                    {.trouble = Trouble::internal,
                     .what = "mapping " + format_size(bytes) + " of the guest",
                     .limit = std::string{"mmap: "} + std::strerror(error),
                     .remedy = "see that the file may be mapped, and vm.max_map_count"}};
    }
    bytes_ = static_cast<std::byte*>(start_) + before;
}

Memory::Mapping::Mapping(Mapping&& other) noexcept
    : start_{std::exchange(other.start_, nullptr)}, length_{other.length_}, bytes_{
                                                                                std::exchange(other.bytes_, nullptr)}
{
}

Memory::Mapping& Memory::Mapping::operator=(Mapping&& other) noexcept
{
    std::swap(start_, other.start_);
    std::swap(length_, other.length_);
    std::swap(bytes_, other.bytes_);
    return *this;
}

Memory::Mapping::~Mapping()
{
    if (start_ != nullptr)
        ::munmap(start_, length_);
}

Memory::~Memory() = default;

std::size_t Memory::first_not_before(std::uint64_t at) const noexcept
{
    const auto found = std::ranges::lower_bound(placed_, at, {}, &Placed::last);
    return static_cast<std::size_t>(found - placed_.begin());
}

void Memory::check(const Range& range) const
{
    const std::uint64_t at = range.at.value();
    if (range.bytes == 0 || (at | range.bytes) % page != 0)
        refuse(EINVAL, range, "it is not whole pages of 4 KiB", "map whole pages");
    if (range.bytes - 1 > most - at)
        refuse(EINVAL, range, "it ends after the last address", "map less");
    if (!range.readable && !range.writable)
        refuse(EINVAL, range, "it is neither readable nor writable", "map it with a right");
    if (placed_.size() >= most_ranges)
        refuse(ENOSPC, range, "there are " + std::to_string(most_ranges) + " ranges", "unmap others");
    const std::size_t next = first_not_before(at);
    if (next < placed_.size() && placed_[next].first <= at + (range.bytes - 1))
        refuse(EEXIST, range, "a part of it is mapped", "unmap it first");
}

void Memory::place(const Range& range, Mapping mapping)
{
    const std::uint64_t first = range.at.value();
    placed_.insert(placed_.begin() + static_cast<std::ptrdiff_t>(first_not_before(first)),
                   Placed{first, first + (range.bytes - 1), range.readable, range.writable, std::move(mapping)});
}

void Memory::map(const Range& range, int file, std::uint64_t offset)
{
    check(range);
    if (offset % page != 0)
        refuse(EINVAL, range, "the offset in its file is not a multiple of 4 KiB", "map whole pages");
    check_file(file, offset, range);
    place(range, Mapping{file, offset, range.bytes, range.writable});
}

void Memory::map_nothing(const Range& range)
{
    check(range);
    place(range, Mapping{});
}

void Memory::unmap(DmaAddress at, std::uint64_t bytes)
{
    const std::uint64_t first = at.value();
    if (bytes == 0 || bytes - 1 > most - first)
        refuse("unmapping", EINVAL, at, bytes, "it is no range", "unmap what was mapped");
    const std::uint64_t last = first + (bytes - 1);
    const std::size_t begin = first_not_before(first);
    std::size_t end = begin;
    while (end < placed_.size() && placed_[end].first <= last)
        ++end;
    if (begin == end)
        refuse("unmapping", ENOENT, at, bytes, "nothing is mapped there", "unmap what was mapped");
    if (placed_[begin].first < first || placed_[end - 1].last > last)
        refuse("unmapping", EINVAL, at, bytes, "what is mapped there reaches over its bounds",
               "unmap what was mapped");
    placed_.erase(placed_.begin() + static_cast<std::ptrdiff_t>(begin),
                  placed_.begin() + static_cast<std::ptrdiff_t>(end));
}

void Memory::unmap_all() noexcept
{
    placed_.clear();
}

MemoryCounts Memory::counts() const noexcept
{
    MemoryCounts counts;
    counts.ranges = placed_.size();
    for (const Placed& placed : placed_) {
        if (placed.mapping.bytes() == nullptr)
            ++counts.without_memory;
        else
            counts.bytes += placed.last - placed.first + 1;
    }
    return counts;
}

std::span<std::byte> Memory::memory(DmaAddress at, std::uint64_t length, hca::Direction direction) noexcept
{
    const std::size_t index = first_not_before(at.value());
    if (!answers_ || index == placed_.size())
        return {};
    const Placed& found = placed_[index];
    if (found.first > at.value() || found.mapping.bytes() == nullptr)
        return {};
    if (!(direction == hca::Direction::read ? found.readable : found.writable))
        return {};
    const std::uint64_t left = found.last - at.value() + 1; // not 0: a mapping is not the whole address space
    return {found.mapping.bytes() + (at.value() - found.first),
            static_cast<std::size_t>(std::min<std::uint64_t>(length, left))};
}

} // namespace mrz::dma
