// SPDX-License-Identifier: BSD-3-Clause
#include "populate.hpp"

#include <mrzone/host.hpp>

#include <algorithm>
#include <cerrno>
#include <string>

#include <sys/mman.h>
#include <unistd.h>

namespace mrz {
namespace {

//! What nobody may read cannot be populated either, and would be taken for memory that was never touched.
void check_access_to(const host::MappedMemory& mapping, std::size_t length)
{
    if (mapping.readable)
        return;
    throw Error{EFAULT,
                {.trouble = Trouble::permission,
                 .what = "populating " + format_size(length) + " of memory",
                 .limit = (mapping.name.empty() ? std::string{"the mapping"} : "the mapping of " + mapping.name) +
                          " at " + format_hex(mapping.begin) + " has no access",
                 .remedy = "map it readable and writable (mprotect)"}};
}

Error failure(const host::MappedMemory& mapping, std::size_t length)
{
    Cause cause;
    cause.what = "populating " + format_size(length) + " at " + format_hex(mapping.begin);
    if (mapping.page_size == static_cast<std::size_t>(::sysconf(_SC_PAGESIZE))) {
        cause.trouble = Trouble::invalid;
        cause.limit = "touching it raises SIGBUS" +
                      (mapping.name.empty() ? std::string{} : ": does " + mapping.name + " end before?");
        cause.remedy = "map memory that is there";
        return Error{EFAULT, cause};
    }
    const std::string pages = "hugepages of " + format_size(mapping.page_size);
    const host::CgroupLimits groups = host::hugetlb_cgroup(mapping.page_size, host::HugetlbCharge::usage);
    const std::optional<std::uint64_t> headroom = groups.headroom().value();
    if (const host::CgroupLimit* const tightest = groups.tightest(); tightest && headroom && *headroom < length) {
        cause.trouble = Trouble::cgroup;
        cause.limit = "the control group's " + pages + " (" + tightest->file + "), in bytes,";
        cause.present = tightest->max.value();
        cause.need = tightest->usage.value_or(0) + length;
        cause.remedy = "try: echo " + std::to_string(*cause.need) + " > " + tightest->file;
        return Error{EFAULT, cause};
    }
    cause.trouble = Trouble::hugepages;
    cause.limit = "the pool has too few free " + pages;
    cause.remedy = "try: mrz pools set, or free hugepages that others hold";
    return Error{EFAULT, cause};
}

void populate(std::span<const std::byte> memory, const std::vector<host::MappedMemory>& mappings)
{
    const auto begin = reinterpret_cast<std::uintptr_t>(memory.data());
    const std::uintptr_t end = begin + memory.size();
    for (auto at = std::ranges::upper_bound(mappings, begin, {}, &host::MappedMemory::end);
         at != mappings.end() && at->begin < end; ++at) {
        const host::MappedMemory& mapping = *at;
        check_access_to(mapping, memory.size());
        const std::uint64_t page = mapping.page_size;
        const std::uint64_t from = std::max<std::uint64_t>(mapping.begin, begin / page * page);
        const std::uint64_t to = std::min<std::uint64_t>(mapping.end, (end + page - 1) / page * page);
        const int advice = mapping.writable ? MADV_POPULATE_WRITE : MADV_POPULATE_READ;
        int result = 0;
        do // EINTR is not documented, but costs nothing
            result = ::madvise(reinterpret_cast<void*>(from), to - from, advice);
        while (result != 0 && errno == EINTR);
        if (result != 0 && errno == EFAULT)
            throw failure(mapping, to - from);
        // EINVAL before Linux 5.14: pinning populates, and absent frames are refused by name.
    }
}

} // namespace

void populate(std::span<const std::span<const std::byte>> memories)
{
    if (const auto mappings = host::mapped_memory_around(memories))
        for (const auto& memory : memories)
            populate(memory, *mappings);
}

} // namespace mrz
