// SPDX-License-Identifier: BSD-3-Clause
#include "reservation.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <mutex>
#include <new>
#include <utility>

#include <sys/mman.h>

namespace mrz::hugepage {
namespace {

constexpr std::size_t first_try = 4_TiB;
constexpr std::size_t last_try = 64_GiB;

//! Maps nothing at \p hint: addresses that nobody else is given. MAP_FAILED with errno on failure.
void* map_nothing(std::uintptr_t hint, std::size_t length, int flags)
{
    void* address = ::mmap(reinterpret_cast<void*>(hint), length, PROT_NONE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | flags, -1, 0);
    // Also what lets a range that comes back merge with its neighbours: mappings merge only if their flags agree.
    if (address != MAP_FAILED)
        ::madvise(address, length, MADV_DONTDUMP);
    return address;
}

struct Reservation {
    std::mutex mutex;
    FreeRanges free;
    std::uintptr_t begin = 0;
    std::size_t length = 0; // 0 until the first window asks for room.

    void open()
    {
        if (length != 0)
            return;
        for (std::size_t size = first_try; size >= last_try; size /= 2) {
            void* address = map_nothing(0, size, 0);
            if (address == MAP_FAILED)
                continue;
            try {
                free.put(reinterpret_cast<std::uintptr_t>(address), size);
            } catch (...) {
                ::munmap(address, size);
                throw;
            }
            begin = reinterpret_cast<std::uintptr_t>(address);
            length = size;
            return;
        }
    }
};

// Never destroyed: windows of static objects may still give addresses back while the process ends.
Reservation& the_reservation()
{
    static Reservation& instance = *new Reservation;
    return instance;
}

} // namespace

void FreeRanges::put(std::uintptr_t begin, std::size_t length)
{
    const auto next = ranges_.lower_bound(begin);
    const bool joins_next = next != ranges_.end() && next->first == begin + length;
    if (next != ranges_.begin()) {
        const auto previous = std::prev(next);
        if (previous->first + previous->second == begin) {
            previous->second += length;
            if (joins_next) {
                previous->second += next->second;
                ranges_.erase(next);
            }
            return;
        }
    }
    if (joins_next) {
        // Its own node moves: a range that grows needs no memory, so where there is none it is not lost.
        auto node = ranges_.extract(next);
        node.key() = begin;
        node.mapped() += length;
        ranges_.insert(std::move(node));
        return;
    }
    ranges_.emplace(begin, length);
}

std::optional<std::uintptr_t> FreeRanges::take(std::size_t before, std::size_t length, PageShift modulus,
                                               std::uint64_t residue)
{
    const std::uint64_t mask = modulus.bytes() - 1;
    for (auto range = ranges_.begin(); range != ranges_.end(); ++range) {
        const std::size_t skip = (residue - (range->first + before)) & mask;
        // Written so that no sum can pass 2^64.
        if (skip > range->second || before > range->second - skip || length > range->second - skip - before)
            continue;
        const std::uintptr_t begin = range->first + skip;
        cut(range, begin, before + length);
        return begin;
    }
    return {};
}

bool FreeRanges::take_at(std::uintptr_t begin, std::size_t length)
{
    auto range = ranges_.upper_bound(begin);
    if (range == ranges_.begin())
        return false;
    --range;
    const std::size_t skip = begin - range->first;
    if (skip > range->second || length > range->second - skip)
        return false;
    cut(range, begin, length);
    return true;
}

std::size_t FreeRanges::largest() const
{
    std::size_t largest = 0;
    for (const auto& [begin, length] : ranges_)
        largest = std::max(largest, length);
    return largest;
}

void FreeRanges::cut(Ranges::iterator range, std::uintptr_t begin, std::size_t length)
{
    const std::uintptr_t end = range->first + range->second;
    if (begin + length < end)
        ranges_.emplace(begin + length, end - (begin + length));
    if (begin == range->first)
        ranges_.erase(range);
    else
        range->second = begin - range->first;
}

AddressRange& AddressRange::operator=(AddressRange&& other) noexcept
{
    if (this != &other) {
        release();
        begin_ = std::exchange(other.begin_, 0);
        length_ = std::exchange(other.length_, 0);
        reserved_ = other.reserved_;
    }
    return *this;
}

AddressRange AddressRange::congruent(std::size_t before, std::size_t length, PageShift modulus, std::uint64_t residue)
{
    Reservation& the = the_reservation();
    const std::lock_guard lock{the.mutex};
    the.open();
    if (const auto begin = the.free.take(before, length, modulus, residue))
        return AddressRange{*begin, before + length, true};
    throw Error{ENOMEM,
                {.trouble = Trouble::invalid,
                 .what = "addresses for a window of " + format_size(length),
                 .limit = the.length == 0 ? "address space (bytes that could be reserved)"
                                          : "address space reserved for windows (largest free bytes)",
                 .present = the.free.largest(),
                 // Wherever the alignment falls, this much holds it.
                 .need = the.length == 0 ? last_try : before + length + modulus.bytes(),
                 .remedy = the.length < first_try ? "try: ulimit -v unlimited" : "close other windows"}};
}

AddressRange AddressRange::at(std::uintptr_t begin, std::size_t length)
{
    Reservation& the = the_reservation();
    {
        const std::lock_guard lock{the.mutex};
        if (the.free.take_at(begin, length))
            return AddressRange{begin, length, true};
    }
    void* address = map_nothing(begin, length, MAP_FIXED_NOREPLACE);
    if (address != MAP_FAILED && reinterpret_cast<std::uintptr_t>(address) == begin)
        return AddressRange{begin, length, false};
    const int error = address == MAP_FAILED ? errno : EEXIST;
    // Kernels before 4.17 take the address for a hint.
    if (address != MAP_FAILED)
        ::munmap(address, length);
    throw Error{error,
                {.trouble = error == EEXIST ? Trouble::busy : Trouble::invalid,
                 .what = "mapping " + format_size(length) + " at " + format_hex(begin),
                 .limit = error == EEXIST ? "something of this process is mapped there"
                                          : std::string{"mmap: "} + std::strerror(error),
                 .remedy = error == EEXIST
                               ? "start the process that attaches with the same --base-virtaddr, or attach earlier"
                               : "check ulimit -v and vm.max_map_count"}};
}

void AddressRange::release() noexcept
{
    if (length_ == 0)
        return;
    void* const address = reinterpret_cast<void*>(begin_);
    if (!reserved_) {
        ::munmap(address, length_);
    } else {
        Reservation& the = the_reservation();
        const std::lock_guard lock{the.mutex};
        try {
            if (map_nothing(begin_, length_, MAP_FIXED) != MAP_FAILED)
                the.free.put(begin_, length_);
            else
                ::munmap(address, length_);
        } catch (const std::bad_alloc&) { // NOLINT(bugprone-empty-catch)
            // As after a failed mmap: the addresses are lost to windows, but nobody's memory is at risk.
        }
    }
    length_ = 0;
}

} // namespace mrz::hugepage
