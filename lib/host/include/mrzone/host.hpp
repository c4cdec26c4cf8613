// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! What this host and this process allow: limits, control groups, capabilities, mounts, mappings, IOMMU, nodes.
//!
//! Each function reads its facts anew, from files under a Root, and changes nothing. All are thread-safe.
//! A fact that cannot be read is "unknown", which is never the same as "unlimited" or zero. Only bad_alloc is
//! thrown.
#pragma once

#include <mrzone/base.hpp>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

namespace mrz::host {

//! Where /proc, /sys and the control groups are looked for. Tests give a folder of their own.
class MRZ_API Root {
  public:
    Root() = default;
    explicit Root(std::filesystem::path prefix) : prefix_{std::move(prefix)} {}

    //! The file that stands for the absolute path \p absolute.
    [[nodiscard]] std::filesystem::path operator()(std::string_view absolute) const;
    //! The whole text of a file, or nothing if it cannot be read.
    [[nodiscard]] std::optional<std::string> text(std::string_view absolute) const;
    //! A file that holds one unsigned decimal number, or nothing.
    [[nodiscard]] std::optional<std::uint64_t> number(std::string_view absolute) const;
    //! The names in a folder, in no order and without "." and "..", or nothing if it cannot be read.
    [[nodiscard]] std::optional<std::vector<std::string>> names(std::string_view absolute) const;

  private:
    std::filesystem::path prefix_ = "/";
};

//! A limit that may be a number, none at all, or not to be known.
class Limit {
  public:
    static constexpr Limit unknown() { return Limit{State::unknown, 0}; }
    static constexpr Limit unlimited() { return Limit{State::unlimited, 0}; }
    static constexpr Limit of(std::uint64_t value) { return Limit{State::value, value}; }

    [[nodiscard]] constexpr bool is_unknown() const noexcept { return state_ == State::unknown; }
    [[nodiscard]] constexpr bool is_unlimited() const noexcept { return state_ == State::unlimited; }
    //! The number, if the limit is one.
    [[nodiscard]] constexpr std::optional<std::uint64_t> value() const noexcept
    {
        return state_ == State::value ? std::optional{value_} : std::nullopt;
    }

    friend constexpr bool operator==(Limit, Limit) = default;

  private:
    enum class State { unknown, unlimited, value };
    constexpr Limit(State state, std::uint64_t value) : state_{state}, value_{value} {}
    State state_;
    std::uint64_t value_;
};

//! Capabilities of this process that decide what it may do (CapEff of /proc/self/status).
struct Capabilities {
    std::optional<std::uint64_t> effective; //!< The bit mask; none if unknown.
    //! False in a user namespace of its own (a rootless container), where the mask does not hold against the kernel's
    //! limits: then neither of the two below is true.
    bool in_initial_namespace = true;

    [[nodiscard]] MRZ_API bool ipc_lock() const noexcept;  //!< Exempt from the locked-memory limit.
    [[nodiscard]] MRZ_API bool sys_admin() const noexcept; //!< May read frames from pagemap.
};
MRZ_API Capabilities capabilities(const Root& root = {});

//! The locked-memory limit and what counts against it, in bytes.
struct LockedMemory {
    Limit soft = Limit::unknown();
    Limit hard = Limit::unknown();
    std::optional<std::uint64_t> locked; //!< mlock()ed (VmLck).
    std::optional<std::uint64_t> pinned; //!< Pinned for devices (VmPin); an RDMA registration is charged here.
    bool exempt = false;                 //!< CAP_IPC_LOCK: the limit does not bind.
};
MRZ_API LockedMemory locked_memory(const Root& root = {});
//! Whether pinning \p bytes more is surely refused. Less may be, too: what is only locked, and what other processes
//! of the user hold, count for some who pin and not for others.
MRZ_API bool surely_beyond(const LockedMemory& limit, std::uint64_t bytes) noexcept;
//! The cause where locking or pinning \p bytes was, or would be, refused for a limit that is known and binds.
MRZ_API Cause locked_memory_too_small(const LockedMemory& limit, std::uint64_t bytes, std::string what);

//! One control group's limit on one thing, in bytes or, of RDMA, objects.
struct CgroupLimit {
    std::string file; //!< The file that holds the limit, as an absolute path of the host.
    Limit max = Limit::unknown();
    std::optional<std::uint64_t> usage;
};

//! The limits that bind this process, its own group first, then each ancestor's.
struct CgroupLimits {
    std::vector<CgroupLimit> ancestry;
    //! Whether every ancestor could be seen. In a container the outer groups cannot: then more may bind.
    bool complete = false;

    //! What may still be taken under all that is known; unlimited only if complete, and unknown otherwise when
    //! nothing known binds.
    [[nodiscard]] MRZ_API Limit headroom() const;
    //! The group that leaves the least; nullptr if none has a number.
    [[nodiscard]] MRZ_API const CgroupLimit* tightest() const;
};
//! What the hugetlb controller limits: pages in use, which faults are charged to, or reservations, which mmap is.
//! fallocate on a memory file is charged to both.
enum class HugetlbCharge { usage, reservation };
//! The hugetlb controller's limits for pages of \p page_size bytes, of version 1 or 2.
MRZ_API CgroupLimits hugetlb_cgroup(std::size_t page_size, HugetlbCharge charge, const Root& root = {});
//! The memory controller's limits.
MRZ_API CgroupLimits memory_cgroup(const Root& root = {});
//! What the rdma controller counts of a device.
enum class RdmaCharge {
    handles, //!< Openings of it.
    objects, //!< All that is made of it: protection domains, regions, queue pairs, completion queues.
};
//! The rdma controller's limits for the device of that name.
MRZ_API CgroupLimits rdma_cgroup(std::string_view device, RdmaCharge charge, const Root& root = {});

//! A mounted hugetlbfs.
struct HugetlbfsMount {
    std::filesystem::path path;
    std::optional<std::size_t> page_size; //!< None where neither the mount nor the kernel says.
    Limit size = Limit::unlimited();      //!< The mount's own size option, in bytes.
    bool read_only = false;
};
MRZ_API std::vector<HugetlbfsMount> hugetlbfs_mounts(const Root& root = {});

//! The page size that "a hugepage" means by default (Hugepagesize of /proc/meminfo), in bytes.
MRZ_API std::optional<std::size_t> default_hugepage_size(const Root& root = {});

//! How many memory mappings this process has, and may have (vm.max_map_count).
struct Mappings {
    Limit max = Limit::unknown();
    std::optional<std::uint64_t> used;
};
MRZ_API Mappings mappings(const Root& root = {});

//! A mapping of a process.
struct MappedMemory {
    std::uint64_t begin = 0; //!< The first address, a multiple of page_size.
    std::uint64_t end = 0;   //!< One past the last.
    bool readable = false;
    bool writable = false;
    bool shared = false;   //!< MAP_SHARED.
    std::string name = {}; //!< The file, as the kernel shows it, or "[stack]" and such; empty for anonymous memory.
    std::size_t page_size = 0; //!< Bytes: of its hugepages, where it is of hugetlbfs and this process may see that.
};
//! The mappings that [address, address + length) touches, in ascending order. Nothing if they cannot be read.
MRZ_API std::optional<std::vector<MappedMemory>> mapped_memory(const void* address, std::size_t length,
                                                               const Root& root = {});
//! As above, from the first to the last byte of several memories, in one look. \p Memory is a std::span of bytes.
template <class Memory>
std::optional<std::vector<MappedMemory>> mapped_memory_around(std::span<const Memory> memories)
{
    std::uintptr_t begin = ~std::uintptr_t{0};
    std::uintptr_t end = 0;
    for (const Memory& memory : memories) {
        const auto first = reinterpret_cast<std::uintptr_t>(memory.data());
        begin = std::min(begin, first);
        end = std::max(end, first + memory.size());
    }
    return mapped_memory(reinterpret_cast<const void*>(begin), begin < end ? end - begin : 0);
}
//! The mappings of hugepages (hugetlbfs, anonymous ones too) that a process has, in ascending order. Needs no
//! privilege for a process of the same user. Nothing if they cannot be read: no such process, or another user's.
MRZ_API std::optional<std::vector<MappedMemory>> hugepage_mappings(pid_t pid, const Root& root = {});

//! What stands between a device's addresses and memory.
enum class Iommu {
    unknown,
    none,
    passthrough, //!< Present, and every group maps each address to itself.
    translating, //!< Some group has a DMA mapping of its own: frames do not tell what a device sees.
};
MRZ_API Iommu iommu(const Root& root = {});
MRZ_API std::string_view to_string(Iommu mode);

//! A NUMA node with memory.
struct Node {
    int id = 0;
    std::optional<std::uint64_t> memory_total; //!< Bytes.
    std::optional<std::uint64_t> memory_free;  //!< Bytes.
};
//! In order of id; one node 0 with the whole memory where the kernel knows no nodes.
MRZ_API std::vector<Node> nodes(const Root& root = {});
//! Bytes of memory that a node has, or the whole machine; none if unknown.
MRZ_API std::optional<std::uint64_t> memory_total(std::optional<int> node = {}, const Root& root = {});
//! Bytes of memory that the kernel can still give to programs without swapping (MemAvailable of /proc/meminfo).
MRZ_API std::optional<std::uint64_t> memory_available(const Root& root = {});

//! The largest page shift that this kernel's RDMA drivers stand: 30 before Linux 6.13, which shift an int
//! (mlx5's umr.c), 31 from then on. 30 where the version cannot be read.
MRZ_API PageShift max_registration_shift(const Root& root = {});

} // namespace mrz::host
