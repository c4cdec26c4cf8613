// SPDX-License-Identifier: BSD-3-Clause
#include "map_query.hpp"

#include <mrzone/file_descriptor.hpp>

#include <array>
#include <cerrno>
#include <cstddef>

#include <fcntl.h>
#include <sys/ioctl.h>

namespace mrz::host {
namespace {

// PROCMAP_QUERY and struct procmap_query of include/uapi/linux/fs.h, which headers before Linux 6.11 lack.
struct Query {
    std::uint64_t size = sizeof(Query);
    std::uint64_t flags = 0;
    std::uint64_t address = 0;
    std::uint64_t begin = 0; // and what follows is the kernel's, but for where names may go
    std::uint64_t end = 0;
    std::uint64_t rights = 0;
    std::uint64_t page_size = 0;
    std::uint64_t offset = 0;
    std::uint64_t inode = 0;
    std::uint32_t device_major = 0;
    std::uint32_t device_minor = 0;
    std::uint32_t name_size = 0; // with the zero at its end; 0: it has none
    std::uint32_t build_id_size = 0;
    std::uint64_t name = 0;
    std::uint64_t build_id = 0;
};
static_assert(sizeof(Query) == 104);
constexpr unsigned long query_request = _IOWR('f', 17, Query);
constexpr std::uint64_t covering_or_next = 0x10;
constexpr std::uint64_t is_readable = 0x01;
constexpr std::uint64_t is_writable = 0x02;
constexpr std::uint64_t is_shared = 0x08;

} // namespace

std::optional<std::vector<MappedMemory>> query_mappings(std::uint64_t begin, std::uint64_t last, const Root& root)
{
    const FileDescriptor file{::open(root("/proc/self/maps").c_str(), O_RDONLY | O_CLOEXEC)};
    if (file.get() < 0)
        return std::nullopt;
    std::vector<MappedMemory> result;
    std::array<char, 4096> name; // PATH_MAX: the kernel shows no longer ones
    for (std::uint64_t at = begin; at <= last;) {
        Query query{.flags = covering_or_next,
                    .address = at,
                    .name_size = static_cast<std::uint32_t>(name.size()),
                    .name = reinterpret_cast<std::uintptr_t>(name.data())};
        if (::ioctl(file.get(), query_request, &query) != 0) {
            if (errno == ENOENT) // there is none any more
                break;
            return std::nullopt;
        }
        if (query.begin > last)
            break;
        MappedMemory& mapping = result.emplace_back();
        mapping.begin = query.begin;
        mapping.end = query.end;
        mapping.readable = (query.rights & is_readable) != 0;
        mapping.writable = (query.rights & is_writable) != 0;
        mapping.shared = (query.rights & is_shared) != 0;
        mapping.page_size = static_cast<std::size_t>(query.page_size);
        if (query.name_size > 1)
            mapping.name.assign(name.data(), query.name_size - 1);
        at = query.end;
    }
    return result;
}

} // namespace mrz::host
