// SPDX-License-Identifier: BSD-3-Clause
#include "failure.hpp"

#include "context.hpp"
#include "memory.hpp"
#include "resources.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <utility>

#include <unistd.h>

namespace mrz::verbs {
namespace {

// drivers/infiniband/core/umem.c, ib_umem_get: as many pages of 4 KiB as an unsigned int counts.
constexpr std::uint64_t most_pages = std::numeric_limits<std::uint32_t>::max();

std::string naming(const RegistrationFacts& facts)
{
    return "registering " + format_size(facts.length) + " at " + format_hex(facts.address) + " with device " +
           facts.device;
}

std::string naming(const host::MappedMemory& mapping)
{
    return (mapping.name.empty() ? std::string{"the mapping"} : "the mapping of " + mapping.name) + " at " +
           format_hex(mapping.begin);
}

std::string kernel_says(int error)
{
    return std::string{"the kernel: "} + std::strerror(error);
}

// drivers/infiniband/core/rdma_core.c charges an object before anything else is done for it; kernel/cgroup/rdma.c
// answers EAGAIN, which nothing else there does. So does a firmware of mlx5 that has run out of something
// (drivers/net/ethernet/mellanox/mlx5/core/cmd.c, cmd_status_to_err), which no group's limit can be told from unless
// it is seen.
Cause cgroup_cause(std::string_view device, const host::CgroupLimits& limits, std::string_view value,
                   std::string what)
{
    Cause cause{.trouble = Trouble::cgroup, .what = std::move(what), .limit = {}, .remedy = {}};
    const host::CgroupLimit* const tightest = limits.tightest();
    if (tightest == nullptr) {
        cause.limit =
            "a control group's " + std::string{value} +
            " (rdma.max), in a group that this process cannot see, or something that the device has run out of";
        cause.remedy = "look for rdma.max outside the container, and at the kernel's log (dmesg)";
        return cause;
    }
    const std::uint64_t need = tightest->usage.value_or(tightest->max.value().value_or(0)) + 1;
    cause.limit = "the control group's " + std::string{value} + " of " + std::string{device} + " (" + tightest->file +
                  "), in objects,";
    cause.present = tightest->max.value();
    cause.need = need;
    cause.remedy = "try: echo '" + std::string{device} + " " + std::string{value} + "=" + std::to_string(need) +
                   "' > " + tightest->file;
    return cause;
}

// What the mappings alone say. Linux 6.1 pins for writing whatever the rights are, 6.12 only where the device may
// write: so memory that may not be written is an answer to EFAULT in both.
std::optional<Cause> mapping_cause(const RegistrationFacts& facts)
{
    if (!facts.mappings)
        return std::nullopt;
    std::uint64_t reached = facts.address;
    const std::uint64_t end = facts.address + facts.length;
    for (const host::MappedMemory& mapping : *facts.mappings) {
        if (mapping.begin > reached)
            break;
        if (!mapping.readable || !mapping.writable)
            return Cause{.trouble = Trouble::permission,
                         .what = naming(facts),
                         .limit = naming(mapping) + (mapping.readable ? " is read-only" : " has no access") +
                                  (mapping.readable && !facts.writes
                                       ? ", and this kernel pins for writing whatever the rights are"
                                       : ", and it is pinned for what the rights allow"),
                         .remedy = "map it readable and writable (mprotect), or copy it"};
        reached = std::max(reached, mapping.end);
    }
    if (reached < end)
        return Cause{.trouble = Trouble::invalid,
                     .what = naming(facts),
                     .limit = "nothing is mapped at " + format_hex(reached),
                     .remedy = "map memory there first"};
    return std::nullopt;
}

bool keys_ran_out(const RegistrationFacts& facts)
{
    return facts.regions_of_it && facts.max_mr != 0 && *facts.regions_of_it >= facts.max_mr;
}

Cause out_of_keys(const RegistrationFacts& facts)
{
    return {.trouble = Trouble::unsupported,
            .what = naming(facts),
            .limit = "the device's keys (max_mr of ibv_devinfo -v), of all processes,",
            .present = facts.max_mr,
            .need = facts.max_mr + 1,
            .remedy = "deregister some regions, register fewer and longer ones, or let peers share one"};
}

// ENOMEM: the locked-memory limit, the device's keys, or the kernel's memory.
Cause memory_cause(const RegistrationFacts& facts)
{
    if (keys_ran_out(facts))
        return out_of_keys(facts);
    // Even if it seems to fit: what is pinned may have changed since.
    if (!facts.locked.exempt && facts.locked.soft.value())
        return host::locked_memory_too_small(facts.locked, facts.pinned_bytes, naming(facts));
    return {.trouble = Trouble::internal,
            .what = naming(facts),
            .limit = "the kernel's memory, or the device's keys (max_mr) or tables",
            .present = facts.max_mr == 0 ? std::nullopt : std::optional{facts.max_mr},
            .remedy = "free memory, or deregister some regions"};
}

Cause cause_of(const RegistrationFacts& facts)
{
    if (facts.error == EAGAIN)
        return cgroup_cause(facts.device, facts.objects, "hca_object", naming(facts));
    if (facts.error == EFAULT || facts.error == EPERM || facts.error == EINVAL || facts.error == ENOMEM)
        if (auto cause = mapping_cause(facts))
            if (facts.error == EFAULT || cause->trouble == Trouble::invalid)
                return *std::move(cause);
    if (facts.error == EPERM && !facts.locked.exempt && facts.locked.soft.value() == 0)
        return host::locked_memory_too_small(facts.locked, facts.pinned_bytes, naming(facts));
    if (facts.max_mr_size != 0 && facts.length > facts.max_mr_size)
        return {.trouble = Trouble::unsupported,
                .what = naming(facts),
                .limit = "the device's longest region (max_mr_size of ibv_devinfo -v), in bytes,",
                .present = facts.max_mr_size,
                .need = facts.length,
                .remedy = "register it in pieces"};
    if (facts.error == EINVAL && facts.pinned_bytes / 4096 > most_pages)
        return {.trouble = Trouble::unsupported,
                .what = naming(facts),
                .limit = "the kernel's longest region, in pages of 4 KiB,",
                .present = most_pages,
                .need = facts.pinned_bytes / 4096,
                .remedy = "register it in pieces"};
    if ((facts.error == EINVAL || facts.error == ENOSPC || facts.error == EBUSY) && keys_ran_out(facts))
        return out_of_keys(facts);
    if (facts.error == ENOMEM || facts.error == ENOSPC)
        return memory_cause(facts);
    if (facts.error == EOPNOTSUPP)
        return {.trouble = Trouble::unsupported,
                .what = naming(facts),
                .limit = facts.on_demand ? "the device does not page this memory on demand"
                                         : "the kernel does not pin this memory (of a file on a disk?)",
                .remedy = facts.on_demand ? "register it pinned" : "copy it into anonymous or shared memory"};
    if (facts.error == EPERM || facts.error == EACCES)
        return {.trouble = Trouble::permission,
                .what = naming(facts),
                .limit = kernel_says(facts.error),
                .remedy = "look at the process's capabilities, and at security modules (the kernel's log)"};
    if (facts.error == EFAULT)
        return {.trouble = Trouble::invalid,
                .what = naming(facts),
                .limit = "the kernel cannot pin it: its pages are not to be had, or of a device or a file on a disk",
                .remedy = "use anonymous, shared or hugetlbfs memory, and touch it first"};
    return {.trouble = Trouble::internal,
            .what = naming(facts),
            .limit = kernel_says(facts.error),
            .remedy = "look at the kernel's log (dmesg)"};
}

} // namespace

Error explain(const RegistrationFacts& facts)
{
    return Error{facts.error, cause_of(facts)};
}

Error registration_failure(int error, const Context& context, const void* address, std::size_t length, bool writes,
                           bool on_demand)
{
    const ibv_device_attr& attributes = context.attributes().orig_attr;
    return explain({
        .error = error,
        .device = context.name(),
        .address = reinterpret_cast<std::uintptr_t>(address),
        .length = length,
        .pinned_bytes = pinned_bytes(address, length),
        .writes = writes,
        .on_demand = on_demand,
        .max_mr_size = attributes.max_mr_size,
        .max_mr = attributes.max_mr > 0 ? static_cast<std::uint64_t>(attributes.max_mr) : 0,
        .regions_of_it = regions_of(context.name()),
        .locked = host::locked_memory(),
        .objects = host::rdma_cgroup(context.name(), host::RdmaCharge::objects),
        .mappings = host::mapped_memory(address, length),
    });
}

Error open_failure(int error, std::string_view device, std::string_view node)
{
    const std::string what = "opening device " + std::string{device};
    const std::string file = "/dev/infiniband/" + std::string{node};
    if (error == EAGAIN)
        return Error{error,
                     cgroup_cause(device, host::rdma_cgroup(device, host::RdmaCharge::handles), "hca_handle", what)};
    // libibverbs tries again by the device's number, and then tells that there is no such file.
    if (error == ENOENT && ::access(file.c_str(), R_OK | W_OK) != 0 && errno == EACCES)
        error = EACCES;
    if (error == EACCES || error == EPERM)
        return Error{error,
                     {.trouble = Trouble::permission,
                      .what = what,
                      .limit = "this process may not read and write " + file,
                      .remedy = "try: chmod a+rw " + file +
                                " (or a group of its own, by a udev rule; in a container "
                                "let the device through)"}};
    if (error == ENOENT || error == ENXIO || error == ENODEV)
        return Error{error,
                     {.trouble = Trouble::unsupported,
                      .what = what,
                      .limit = "there is no " + file,
                      .remedy = "load ib_uverbs (modprobe ib_uverbs), or let the file into the container "
                                "(--device /dev/infiniband)"}};
    return Error{error,
                 {.trouble = Trouble::internal,
                  .what = what,
                  .limit = kernel_says(error),
                  .remedy = "look at the kernel's log (dmesg)"}};
}

Error explain_object(int error, std::string_view device, std::string_view doing, const host::CgroupLimits& objects,
                     const host::LockedMemory& locked)
{
    std::string what = std::string{doing} + " device " + std::string{device};
    if (error == EAGAIN)
        return Error{error, cgroup_cause(device, objects, "hca_object", std::move(what))};
    // Drivers pin queues, too (mlx5), which are a few pages.
    constexpr std::uint64_t queues = 64 << 10;
    if ((error == ENOMEM || error == EPERM) && host::surely_beyond(locked, queues))
        return Error{error, host::locked_memory_too_small(locked, queues, std::move(what))};
    if (error == EINVAL || error == ENOSPC)
        return Error{
            error,
            {.trouble = Trouble::unsupported,
             .what = std::move(what),
             .limit = kernel_says(error) + ": more than the device has of them, or larger than it makes them",
             .remedy = "ask for less (ibv_devinfo -v shows the device's limits)"}};
    return Error{error,
                 {.trouble = Trouble::internal,
                  .what = std::move(what),
                  .limit = kernel_says(error),
                  .remedy = "free memory, or look at the kernel's log (dmesg)"}};
}

Error object_failure(int error, const Context& context, std::string_view doing)
{
    return explain_object(error, context.name(), doing, host::rdma_cgroup(context.name(), host::RdmaCharge::objects),
                          host::locked_memory());
}

} // namespace mrz::verbs
