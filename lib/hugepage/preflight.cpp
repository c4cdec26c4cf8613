// SPDX-License-Identifier: BSD-3-Clause
#include "preflight.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <limits>

#include <sys/resource.h>

namespace mrz::hugepage {
namespace {

std::string pages_text(const PageNeed& need)
{
    return std::to_string(need.pages) + " hugepages of " + format_size(need.page_size);
}

Error invalid(const std::string& what, std::string limit, std::optional<std::uint64_t> present,
              std::optional<std::uint64_t> need, std::string remedy)
{
    return Error{EINVAL,
                 {.trouble = Trouble::invalid,
                  .what = what,
                  .limit = std::move(limit),
                  .present = present,
                  .need = need,
                  .remedy = std::move(remedy)}};
}

//! Pages that a pool can give, overcommit included. A node's pool counts no reservations and no overcommit; the whole
//! machine's does.
struct Supply {
    Pool pool; // The one that gives the least.
    std::uint64_t available = 0;
    std::uint64_t overcommit = 0;
};

Supply supply(std::size_t page_size, std::optional<int> node, const host::Root& root)
{
    const Pool machine = read_pool(page_size, {}, root);
    Supply supply{.pool = machine, .available = machine.available()};
    if (machine.overcommit > machine.surplus)
        supply.overcommit = machine.overcommit - machine.surplus;
    if (node) {
        const Pool own = read_pool(page_size, node, root);
        if (own.available() <= supply.available) {
            supply.pool = own;
            supply.available = own.available();
        }
    }
    return supply;
}

//! fallocate on a hugetlb file is charged to both: to usage for each page, and to reservations because no mapping
//! has reserved it before (mm/hugetlb.c: alloc_hugetlb_folio).
constexpr std::array charges = {host::HugetlbCharge::usage, host::HugetlbCharge::reservation};

Error cgroup_refuses(const host::CgroupLimits& limits, const PageNeed& need)
{
    const host::CgroupLimit& tightest = *limits.tightest();
    std::optional<std::uint64_t> wanted;
    if (tightest.usage)
        wanted = *tightest.usage + need.bytes();
    return Error{ENOSPC,
                 {.trouble = Trouble::cgroup,
                  .what = pages_text(need),
                  .limit = "control group limit " + tightest.file + " (bytes)",
                  .present = tightest.max.value(),
                  .need = wanted,
                  .remedy = "try: echo " + (wanted ? std::to_string(*wanted) : "max") + " > " + tightest.file}};
}

//! The limits whose headroom is below \p bytes.
std::optional<host::CgroupLimits> too_tight(std::size_t page_size, std::uint64_t bytes, const host::Root& root)
{
    for (const host::HugetlbCharge charge : charges) {
        host::CgroupLimits limits = host::hugetlb_cgroup(page_size, charge, root);
        const auto headroom = limits.headroom().value();
        if (headroom && *headroom < bytes && limits.tightest() != nullptr)
            return limits;
    }
    return {};
}

} // namespace

std::vector<PageNeed> needs_of(const WindowOptions& options, const host::Root& root)
{
    const std::size_t page_size = options.page_size;
    const std::string what = "a window of " + format_size(options.size);
    if (page_size < Window::header_size || !std::has_single_bit(page_size))
        throw invalid(what + " of pages of " + format_size(page_size),
                      "the page size must be a power of two, in bytes at least", page_size, Window::header_size,
                      "use 2 MiB");
    read_pool(page_size, options.node, root);
    if (page_size != Window::header_size)
        read_pool(Window::header_size, options.node, root);
    if (options.size == 0)
        throw invalid(what, "the size in bytes", 0, page_size, "ask for one page or more");
    if (options.size % page_size != 0) {
        const std::size_t up = (options.size / page_size + 1) * page_size;
        throw invalid(what, "the size must be a multiple of the page size, " + format_size(page_size), options.size,
                      up > options.size ? std::optional<std::uint64_t>{up} : std::nullopt, "round it up");
    }
    if (options.threads > Window::most_threads)
        throw invalid(what + " by " + std::to_string(options.threads) + " threads", "threads of one build",
                      Window::most_threads, options.threads, "use fewer threads");

    // Where the machine does not say how much it has: half of what 47-bit addresses reach.
    const std::uint64_t total = host::memory_total(options.node, root).value_or(64_TiB);
    if (options.size > total || total - options.size < Window::header_size)
        throw Error{ENOMEM,
                    {.trouble = Trouble::hugepages,
                     .what = what,
                     .limit = options.node ? "memory of node " + std::to_string(*options.node) + " (bytes)"
                                           : std::string{"memory of the machine (bytes)"},
                     .present = total,
                     .need = std::max<std::uint64_t>(options.size, options.size + Window::header_size),
                     .remedy = "ask for less"}};

    const std::uint64_t pages = options.size / page_size;
    if (page_size == Window::header_size)
        return {{.page_size = page_size, .pages = pages + 1}};
    return {{.page_size = page_size, .pages = pages}, {.page_size = Window::header_size, .pages = 1}};
}

void check_pages(const PageNeed& need, std::optional<int> node, const host::Root& root)
{
    const Supply supply = hugepage::supply(need.page_size, node, root);
    if (supply.available + supply.overcommit < need.pages)
        throw Error{ENOMEM, pool_too_small(supply.pool, need.pages)};
    if (const auto limits = too_tight(need.page_size, need.bytes(), root))
        throw cgroup_refuses(*limits, need);
}

void check_mappings(std::uint64_t more, const host::Root& root)
{
    const host::Mappings mappings = host::mappings(root);
    const auto max = mappings.max.value();
    if (!max || !mappings.used || *mappings.used + more <= *max)
        return;
    const std::uint64_t need = *mappings.used + more;
    throw Error{ENOMEM,
                {.trouble = Trouble::invalid,
                 .what = std::to_string(more) + " more mappings of hugepages",
                 .limit = "vm.max_map_count (mappings)",
                 .present = *max,
                 .need = need,
                 .remedy = "try: sysctl vm.max_map_count=" + std::to_string(std::bit_ceil(need))}};
}

void check_file_size(std::uint64_t bytes)
{
    rlimit limit{};
    if (::getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur >= bytes)
        return;
    throw Error{EFBIG,
                {.trouble = Trouble::invalid,
                 .what = "a memory file of " + format_size(bytes),
                 .limit = "file size limit RLIMIT_FSIZE (bytes)",
                 .present = limit.rlim_cur,
                 .need = bytes,
                 .remedy = "try: ulimit -f unlimited"}};
}

std::uint64_t spare_pages(std::size_t page_size, std::optional<int> node, const host::Root& root)
{
    std::uint64_t spare = supply(page_size, node, root).available;
    for (const host::HugetlbCharge charge : charges)
        if (const auto headroom = host::hugetlb_cgroup(page_size, charge, root).headroom().value())
            spare = std::min(spare, *headroom / page_size);
    return spare;
}

Error taking_failed(int error, const PageNeed& missing, std::optional<int> node, const host::Root& root)
{
    // Both may be short by now. What has no room for one more page is what stopped it; else what would have next.
    const Supply supply = hugepage::supply(missing.page_size, node, root);
    const auto pool_error = [&] { return Error{error, pool_too_small(supply.pool, missing.pages)}; };
    if (const auto limits = too_tight(missing.page_size, missing.page_size, root))
        return cgroup_refuses(*limits, missing);
    if (supply.available == 0)
        return pool_error();
    if (const auto limits = too_tight(missing.page_size, missing.bytes(), root))
        return cgroup_refuses(*limits, missing);
    if (supply.available < missing.pages)
        return pool_error();
    return Error{error,
                 {.trouble = Trouble::hugepages,
                  .what = pages_text(missing),
                  .limit = std::string{"the pool ran dry while they were taken, fallocate: "} + std::strerror(error),
                  .remedy = "try again; others take from the same pool"}};
}

} // namespace mrz::hugepage
