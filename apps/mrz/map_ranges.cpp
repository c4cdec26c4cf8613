// SPDX-License-Identifier: BSD-3-Clause
#include "map_ranges.hpp"

#include <mrzone/hugepage.hpp>

#include <string_view>

namespace mrz::app {
namespace {

// What the kernel shows for the files of windows, and for anonymous hugepages (fs/hugetlbfs/inode.c).
constexpr std::string_view window_file = "/memfd:mrzone";
constexpr std::string_view anonymous_file = "/anon_hugepage";

PageRange range_of(const host::MappedMemory& mapping)
{
    return {.name = mapping.name,
            .address = mapping.begin,
            .page_size = mapping.page_size,
            .pages = (mapping.end - mapping.begin) / mapping.page_size};
}

bool is_own_request(const PageRange& range)
{
    return range.name.starts_with(anonymous_file) && range.pages > 1;
}

} // namespace

std::vector<PageRange> join_mappings(const std::vector<host::MappedMemory>& mappings)
{
    enum class Last { open, closed, header };
    Last last = Last::closed;
    std::vector<PageRange> ranges;
    for (const host::MappedMemory& mapping : mappings) {
        PageRange next = range_of(mapping);
        const bool beside = !ranges.empty() && ranges.back().page_size == next.page_size &&
                            ranges.back().address + ranges.back().length() == next.address;
        if (beside && last == Last::open && !is_own_request(next)) {
            ranges.back().pages += next.pages;
            ++ranges.back().mappings;
            continue;
        }
        const bool begins_window = next.name.starts_with(window_file) && next.page_size == Window::header_size &&
                                   !(beside && last == Last::header);
        if (begins_window) {
            PageRange header = next;
            header.name += ", a header page";
            header.pages = 1;
            ranges.push_back(std::move(header));
            last = Last::header;
            if (next.pages == 1)
                continue;
            next.address += next.page_size;
            --next.pages;
        }
        last = is_own_request(next) ? Last::closed : Last::open;
        ranges.push_back(std::move(next));
    }
    return ranges;
}

} // namespace mrz::app
