// SPDX-License-Identifier: BSD-3-Clause
#include <mrzone/host.hpp>

#include "mountinfo.hpp"
#include "parse.hpp"

namespace mrz::host {
namespace {

// "2M", "1024M", "2097152": as fs/hugetlbfs/inode.c shows its options, or as a person gave them.
std::optional<std::uint64_t> to_size(std::string_view text)
{
    std::uint64_t unit = 1;
    if (!text.empty()) {
        const std::size_t power = std::string_view{"kKmMgGtT"}.find(text.back());
        if (power != std::string_view::npos) {
            unit = std::uint64_t{1024} << (10 * (power / 2));
            text.remove_suffix(1);
        }
    }
    const auto number = to_number(text);
    return number ? product(*number, unit) : std::nullopt;
}

} // namespace

std::vector<HugetlbfsMount> hugetlbfs_mounts(const Root& root)
{
    std::vector<HugetlbfsMount> result;
    const auto mounts = visible_mounts(root, "hugetlbfs");
    if (!mounts)
        return result;
    for (const Mount& mount : *mounts) {
        HugetlbfsMount found;
        found.path = mount.point;
        const auto page_size = option_value(mount.super_options, "pagesize");
        found.page_size = page_size ? to_size(*page_size) : default_hugepage_size(root);
        if (const auto size = option_value(mount.super_options, "size")) {
            const auto bytes = to_size(*size);
            found.size = bytes ? Limit::of(*bytes) : Limit::unknown();
        }
        found.read_only = has_option(mount.options, "ro") || has_option(mount.super_options, "ro");
        result.push_back(std::move(found));
    }
    return result;
}

std::optional<std::size_t> default_hugepage_size(const Root& root)
{
    const auto meminfo = root.text("/proc/meminfo");
    const auto size = meminfo ? field(*meminfo, "Hugepagesize") : std::nullopt;
    return size ? kilobytes(*size) : std::nullopt;
}

} // namespace mrz::host
