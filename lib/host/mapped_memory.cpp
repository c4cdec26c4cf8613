// SPDX-License-Identifier: BSD-3-Clause
#include <mrzone/host.hpp>

#include "files.hpp"
#include "map_query.hpp"
#include "parse.hpp"

#include <linux/magic.h>
#include <sys/vfs.h>
#include <unistd.h>

namespace mrz::host {
namespace {

struct Range {
    std::uint64_t begin;
    std::uint64_t end;
};

std::optional<Range> parse_range(std::string_view column)
{
    const std::size_t dash = column.find('-');
    if (dash == std::string_view::npos)
        return std::nullopt;
    const auto begin = to_number(column.substr(0, dash), 16);
    const auto end = to_number(column.substr(dash + 1), 16);
    if (!begin || !end)
        return std::nullopt;
    return Range{*begin, *end};
}

// "begin-end perms offset device inode   name" (Documentation/filesystems/proc.rst).
std::optional<MappedMemory> parse(std::string_view line)
{
    const auto columns = words(line);
    if (columns.size() < 5 || columns[1].size() != 4)
        return std::nullopt;
    const auto range = parse_range(columns[0]);
    if (!range)
        return std::nullopt;
    MappedMemory mapping{.begin = range->begin,
                         .end = range->end,
                         .readable = columns[1][0] == 'r',
                         .writable = columns[1][1] == 'w',
                         .shared = columns[1][3] == 's'};
    if (columns.size() > 5) // to the end of the line: a name may contain spaces
        mapping.name = line.substr(static_cast<std::size_t>(columns[5].data() - line.data()));
    return mapping;
}

std::size_t page_size(const MappedMemory& mapping, std::string_view range, const Root& root)
{
    // Memory of hugetlbfs is always a file's, an unnamed one's where it is anonymous. Only CAP_SYS_ADMIN and
    // CAP_CHECKPOINT_RESTORE may follow these links (fs/proc/base.c, proc_map_files_get_link).
    struct statfs about = {};
    if (mapping.name.starts_with('/') &&
        ::statfs(root("/proc/self/map_files/" + std::string{range}).c_str(), &about) == 0 &&
        about.f_type == HUGETLBFS_MAGIC)
        return static_cast<std::size_t>(about.f_bsize);
    return static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

// Hands on a line at a time until \p take returns false. False if the file cannot be read.
bool read_lines_while(const std::filesystem::path& file, const std::function<bool(std::string_view)>& take)
{
    std::string rest;
    bool more = true;
    const bool read = read_in_chunks_while(file, [&](std::string_view chunk) {
        for (std::size_t end = 0; more && (end = chunk.find('\n')) != std::string_view::npos;
             chunk.remove_prefix(end + 1)) {
            rest += chunk.substr(0, end);
            more = take(rest);
            rest.clear();
        }
        rest += chunk;
        return more;
    });
    if (read && more && !rest.empty())
        take(rest);
    return read;
}

} // namespace

std::optional<std::vector<MappedMemory>> mapped_memory(const void* address, std::size_t length, const Root& root)
{
    const auto begin = reinterpret_cast<std::uintptr_t>(address);
    std::vector<MappedMemory> result;
    if (length == 0)
        return result;
    const std::uint64_t last = length - 1 > ~begin ? ~std::uint64_t{0} : begin + (length - 1);
    // A hundred times quicker than text, and it tells page sizes to everybody.
    if (auto mappings = query_mappings(begin, last, root))
        return mappings;
    // A process with DPDK's drivers has a thousand mappings: most lines are looked at no further than their range,
    // and none after the range that is asked for, since they are in order. False once that is so.
    const auto take_line = [&](std::string_view line) {
        const auto range = parse_range(line.substr(0, line.find(' ')));
        if (!range || range->end <= begin)
            return true;
        if (range->begin > last)
            return false;
        if (auto mapping = parse(line)) {
            mapping->page_size = page_size(*mapping, words(line).front(), root);
            result.push_back(std::move(*mapping));
        }
        return true;
    };
    if (!read_lines_while(root("/proc/self/maps"), take_line))
        return std::nullopt;
    return result;
}

std::optional<std::vector<MappedMemory>> hugepage_mappings(pid_t pid, const Root& root)
{
    const auto base = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
    std::vector<MappedMemory> result;
    std::optional<MappedMemory> mapping;
    // A line as in maps, then what is known of the mapping, a line each (fs/proc/task_mmu.c, show_smap).
    const auto take_line = [&](std::string_view line) {
        if (parse_range(line.substr(0, line.find(' ')))) {
            mapping = parse(line);
        } else if (const auto size = field(line, "KernelPageSize"); size && mapping) {
            if (const auto bytes = kilobytes(*size); bytes && *bytes > base) {
                mapping->page_size = *bytes;
                result.push_back(std::move(*mapping));
            }
            mapping.reset();
        }
        return true;
    };
    if (!read_lines_while(root("/proc/" + std::to_string(pid) + "/smaps"), take_line))
        return std::nullopt;
    return result;
}

} // namespace mrz::host
