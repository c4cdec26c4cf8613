// SPDX-License-Identifier: BSD-3-Clause
#include "pin_failure.hpp"

#include <mrzone/host.hpp>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <unistd.h>

namespace mrz::soft {
namespace {

std::string naming(std::span<std::byte> memory)
{
    return "registering " + format_size(memory.size()) + " at " +
           format_hex(reinterpret_cast<std::uintptr_t>(memory.data())) + " with the software adapter";
}

std::string naming(const host::MappedMemory& mapping)
{
    return (mapping.name.empty() ? std::string{"the mapping"} : "the mapping of " + mapping.name) + " at " +
           format_hex(mapping.begin);
}

// What the mappings alone forbid: those around the memory, in order.
std::optional<Error> mapping_failure(std::span<std::byte> memory,
                                     const std::optional<std::vector<host::MappedMemory>>& mappings)
{
    if (!mappings)
        return std::nullopt;
    auto reached = reinterpret_cast<std::uintptr_t>(memory.data());
    const std::uintptr_t end = reached + memory.size();
    for (auto at = std::ranges::upper_bound(*mappings, reached, {}, &host::MappedMemory::end);
         at != mappings->end() && at->begin <= reached && reached < end; ++at) {
        const host::MappedMemory& mapping = *at;
        if (!mapping.readable || !mapping.writable)
            return Error{EFAULT,
                         {.trouble = Trouble::permission,
                          .what = naming(memory),
                          .limit = naming(mapping) + (mapping.readable ? " is read-only" : " has no access") +
                                   ", and memory is pinned for writing",
                          .remedy = "map it readable and writable (mprotect), or copy it"}};
        reached = mapping.end;
    }
    if (reached < end)
        return Error{EFAULT,
                     {.trouble = Trouble::invalid,
                      .what = naming(memory),
                      .limit = "nothing is mapped at " + format_hex(reached),
                      .remedy = "map memory there first"}};
    return std::nullopt;
}

// Memory of a file that is on a disk, which the kernel pins for nobody who writes for long (mm/gup.c,
// check_vma_flags). Shared memory is a file only in name.
std::optional<Error> file_failure(int error, std::span<std::byte> memory)
{
    const auto mappings = host::mapped_memory(memory.data(), memory.size());
    if (!mappings)
        return std::nullopt;
    const auto base_page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    for (const host::MappedMemory& mapping : *mappings) {
        const bool memory_only = mapping.page_size != base_page || !mapping.name.starts_with('/') ||
                                 mapping.name.starts_with("/memfd:") || mapping.name.starts_with("/dev/zero") ||
                                 mapping.name.starts_with("/dev/shm/") || mapping.name.starts_with("/SYSV");
        if (!memory_only)
            return Error{error,
                         {.trouble = Trouble::unsupported,
                          .what = naming(memory),
                          .limit = naming(mapping) + " is of a file, whose pages the kernel does not pin for writing",
                          .remedy = "copy it into anonymous or shared memory"}};
    }
    return std::nullopt;
}

// What the kernel charges a ring with, generously.
constexpr std::uint64_t ring_size = 64 << 10;

Error memory_failure(int error, std::string what, std::uint64_t size)
{
    const host::LockedMemory locked = host::locked_memory();
    if (!locked.exempt && locked.soft.value())
        return Error{error, host::locked_memory_too_small(locked, size, std::move(what))};
    const host::CgroupLimits groups = host::memory_cgroup();
    if (const host::CgroupLimit* const tightest = groups.tightest())
        return Error{error,
                     {.trouble = Trouble::cgroup,
                      .what = std::move(what),
                      .limit = "perhaps the control group's memory (" + tightest->file + ", of which " +
                               (tightest->usage ? format_size(*tightest->usage) : std::string{"an unknown part"}) +
                               " is used), in bytes,",
                      .present = tightest->max.value(),
                      .remedy = "raise it: echo BYTES > " + tightest->file}};
    return Error{error,
                 {.trouble = Trouble::internal,
                  .what = std::move(what),
                  .limit = std::string{"the kernel: "} + std::strerror(error),
                  .remedy = "free memory"}};
}

} // namespace

void check_mappings(std::span<const std::span<std::byte>> memories)
{
    const auto mappings = host::mapped_memory_around(memories);
    for (const auto& memory : memories)
        if (const auto failure = mapping_failure(memory, mappings))
            throw *failure;
}

Error pin_failure(int error, std::span<std::byte> pages)
{
    if (auto failure = mapping_failure(pages, host::mapped_memory(pages.data(), pages.size())))
        return *failure;
    if (error == EFAULT || error == EOPNOTSUPP)
        if (auto failure = file_failure(error, pages))
            return *failure;
    // mlock2(2): EPERM where the limit is zero, EAGAIN where pages could not be locked.
    const host::LockedMemory locked = host::locked_memory();
    if (error == EPERM && (locked.exempt || locked.soft.value() != 0))
        return Error{error,
                     {.trouble = Trouble::permission,
                      .what = naming(pages),
                      .limit =
                          "what pins was allowed when the adapter was opened, and is not now (a seccomp profile, "
                          "kernel.io_uring_disabled)",
                      .remedy = "allow it, or forbid it before the first domain is opened"}};
    if (error == ENOMEM || error == EPERM || error == EAGAIN)
        return memory_failure(error, naming(pages), pages.size());
    return Error{error,
                 {.trouble = Trouble::internal,
                  .what = naming(pages),
                  .limit = std::string{"the kernel refuses to pin it: "} + std::strerror(error),
                  .remedy = "look whether the memory is of a device, or hugepages that were never given"}};
}

Error ring_failure(int error, std::string what)
{
    if (error == ENOMEM)
        return memory_failure(error, std::move(what), ring_size);
    return Error{error,
                 {.trouble = Trouble::internal,
                  .what = std::move(what),
                  .limit = std::string{"io_uring: "} + std::strerror(error),
                  .remedy = error == EMFILE ? "raise the limit on open files (ulimit -n), or close some"
                                            : "free descriptors and memory of this process"}};
}

} // namespace mrz::soft
