// SPDX-License-Identifier: BSD-3-Clause
#include "libhugetlbfs.hpp"

#include <algorithm>

extern "C" {
#include <hugetlbfs.h>
}

namespace mrz::app {

std::vector<std::size_t> hugetlbfs_page_sizes()
{
    const int count = gethugepagesizes(nullptr, 0);
    std::vector<long> sizes(static_cast<std::size_t>(std::max(count, 0)));
    const int got = sizes.empty() ? 0 : gethugepagesizes(sizes.data(), count);
    sizes.resize(static_cast<std::size_t>(std::clamp(got, 0, count)));
    std::vector<std::size_t> out(sizes.begin(), sizes.end());
    std::ranges::sort(out);
    return out;
}

std::optional<std::filesystem::path> hugetlbfs_mount_for(std::size_t page_size)
{
    const char* const path = hugetlbfs_find_path_for_size(static_cast<long>(page_size));
    return path != nullptr ? std::optional{std::filesystem::path{path}} : std::nullopt;
}

} // namespace mrz::app
