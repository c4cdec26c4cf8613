// SPDX-License-Identifier: BSD-3-Clause
#include <mrzone/host.hpp>

#include "files.hpp"
#include "hierarchy.hpp"
#include "parse.hpp"

#include <algorithm>

namespace mrz::host {
namespace {

// The files of one limit in a group.
struct Files {
    std::string max;
    std::string usage;
    // A file of the controller that is there wherever the controller is, though this kernel may lack the limit.
    std::string witness;
    // Where a file has a line for each device (kernel/cgroup/rdma.c): the line's first word, and the value's name.
    std::string device = {};
    std::string value = {};
};

// What a file says of the limit, as text; nothing if there is no such line.
std::optional<std::string_view> value_in(std::string_view text, const Files& files)
{
    if (files.device.empty())
        return without_newline(text);
    for (const std::string_view line : lines(text)) {
        const auto parts = words(line);
        if (parts.empty() || parts.front() != files.device)
            continue;
        for (const std::string_view part : parts)
            if (part.starts_with(files.value) && part.substr(files.value.size()).starts_with('='))
                return part.substr(files.value.size() + 1);
    }
    return std::nullopt;
}

Limit to_limit(std::string_view text)
{
    text = without_newline(text);
    if (text == "max")
        return Limit::unlimited();
    const auto number = to_number(text);
    if (!number)
        return Limit::unknown();
    // Version 1 has no word for it and shows LONG_MAX rounded down to pages (mm/page_counter.c); Linux 6.18 shows the
    // same for version 2's hugetlb limits that nobody has set.
    if (*number >= std::uint64_t{1} << 62)
        return Limit::unlimited();
    return Limit::of(*number);
}

// Whether a group whose limit file is missing limits nothing.
bool has_no_limit(const std::string& group, std::string_view controller, const Files& files, bool version_2,
                  const Root& root)
{
    if (!is_missing(root(group + '/' + files.max)))
        return false;
    if (files.witness != files.max && root.text(group + '/' + files.witness))
        return true;
    if (!version_2)
        return false;
    const auto controllers = root.text(group + "/cgroup.controllers");
    return controllers && std::ranges::count(words(without_newline(*controllers)), controller) == 0;
}

CgroupLimits read_limits(std::string_view controller, const Files& version_1, const Files& version_2,
                         const Root& root)
{
    const Hierarchy hierarchy = find_hierarchy(controller, root);
    const Files& files = hierarchy.version_2 ? version_2 : version_1;

    CgroupLimits result;
    result.complete = hierarchy.complete;
    for (const std::string& group : hierarchy.groups) {
        CgroupLimit limit;
        limit.file = group + '/' + files.max;
        if (const auto text = root.text(limit.file)) {
            if (const auto value = value_in(*text, files))
                limit.max = to_limit(*value);
            if (const auto usage = root.text(group + '/' + files.usage))
                if (const auto value = value_in(*usage, files))
                    limit.usage = to_number(*value);
        } else {
            const bool is_root = hierarchy.reaches_root && &group == &hierarchy.groups.back();
            if (is_root && is_missing(root(limit.file)))
                continue;
            if (has_no_limit(group, controller, files, hierarchy.version_2, root))
                continue;
        }
        result.ancestry.push_back(std::move(limit));
    }
    return result;
}

// "64KB", "2MB", "1GB": mm/hugetlb_cgroup.c, mem_fmt().
std::string size_name(std::size_t bytes)
{
    if (bytes >= 1_GiB)
        return std::to_string(bytes >> 30) + "GB";
    if (bytes >= 1_MiB)
        return std::to_string(bytes >> 20) + "MB";
    return std::to_string(bytes >> 10) + "KB";
}

std::optional<std::uint64_t> left(const CgroupLimit& limit)
{
    const auto max = limit.max.value();
    if (!max || !limit.usage)
        return std::nullopt;
    return *max > *limit.usage ? *max - *limit.usage : 0;
}

} // namespace

const CgroupLimit* CgroupLimits::tightest() const
{
    const CgroupLimit* least = nullptr;
    for (const CgroupLimit& limit : ancestry)
        if (left(limit) && (least == nullptr || *left(limit) < *left(*least)))
            least = &limit;
    return least;
}

Limit CgroupLimits::headroom() const
{
    if (const CgroupLimit* least = tightest())
        return Limit::of(*left(*least));
    const bool nothing_binds =
        complete && std::ranges::all_of(ancestry, [](const CgroupLimit& limit) { return limit.max.is_unlimited(); });
    return nothing_binds ? Limit::unlimited() : Limit::unknown();
}

CgroupLimits hugetlb_cgroup(std::size_t page_size, HugetlbCharge charge, const Root& root)
{
    // Reservations are limited since Linux 5.7; the files for pages in use are older.
    const std::string page = "hugetlb." + size_name(page_size) + '.';
    const std::string kind = charge == HugetlbCharge::reservation ? "rsvd." : "";
    return read_limits("hugetlb",
                       {.max = page + kind + "limit_in_bytes",
                        .usage = page + kind + "usage_in_bytes",
                        .witness = page + "limit_in_bytes"},
                       {.max = page + kind + "max", .usage = page + kind + "current", .witness = page + "max"}, root);
}

CgroupLimits memory_cgroup(const Root& root)
{
    return read_limits(
        "memory",
        {.max = "memory.limit_in_bytes", .usage = "memory.usage_in_bytes", .witness = "memory.limit_in_bytes"},
        {.max = "memory.max", .usage = "memory.current", .witness = "memory.max"}, root);
}

CgroupLimits rdma_cgroup(std::string_view device, RdmaCharge charge, const Root& root)
{
    const Files files{.max = "rdma.max",
                      .usage = "rdma.current",
                      .witness = "rdma.max",
                      .device = std::string{device},
                      .value = charge == RdmaCharge::handles ? "hca_handle" : "hca_object"};
    return read_limits("rdma", files, files, root);
}

} // namespace mrz::host
