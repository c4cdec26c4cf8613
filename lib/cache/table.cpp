// SPDX-License-Identifier: BSD-3-Clause
#include "table.hpp"

#include <algorithm>

#include "range.hpp"

namespace mrz::cache {

void Table::Column::clear()
{
    begins.assign(1, 0);
    entries.assign(1, Entry{});
}

void Table::Column::add(const Row& row)
{
    begins.push_back(row.begin);
    entries.push_back(row.entry);
}

void Table::Column::add_farthest(const Row& row)
{
    add({row.begin, row.entry.end > entries.back().end ? row.entry : entries.back()});
}

void Table::rebuild(std::span<const Row> rows, std::shared_ptr<const Table> base)
{
    base_ = std::move(base);
    writable_.clear();
    readable_.clear();
    remote_.clear();
    reads_apart_ = std::ranges::any_of(rows, [](const Row& row) { return row.entry.access == Access::local_read; });
    for (const Row& row : rows) {
        if (has_remote_right(row.entry.access)) {
            remote_.add(row);
            continue;
        }
        if (reads_apart_)
            readable_.add_farthest(row);
        if (grants(row.entry.access, Access::local_write))
            writable_.add_farthest(row);
    }
}

const Entry* Table::find_exact(std::uintptr_t begin, std::uintptr_t end, Access access) const noexcept
{
    for (std::size_t at = remote_.last_from(begin); at > 0 && remote_.begins[at] == begin; --at)
        if (remote_.entries[at].end == end && remote_.entries[at].access == access)
            return &remote_.entries[at];
    return nullptr;
}

} // namespace mrz::cache
