// SPDX-License-Identifier: BSD-3-Clause
#include <mrzone/hugepage.hpp>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <string>
#include <system_error>

#include <fcntl.h>
#include <unistd.h>

namespace mrz {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view machine_folder = "/sys/kernel/mm/hugepages";
constexpr std::string_view nodes_folder = "/sys/devices/system/node";

//! A size as the command line of `mrz pools set` takes it: "2M", "1026M", "3G".
std::string short_size(std::uint64_t bytes)
{
    if (bytes % 1_GiB == 0)
        return std::to_string(bytes >> 30) + 'G';
    if (bytes % 1_MiB == 0)
        return std::to_string(bytes >> 20) + 'M';
    return std::to_string(bytes >> 10) + 'K';
}

std::string of_node(std::optional<int> node)
{
    return node ? " on node " + std::to_string(*node) : std::string{};
}

std::string size_name(std::size_t page_size)
{
    return "hugepages-" + std::to_string(page_size >> 10) + "kB";
}

//! The size of a folder named "hugepages-2048kB", or nothing.
std::optional<std::size_t> size_of_name(std::string_view name)
{
    constexpr std::string_view prefix = "hugepages-";
    constexpr std::string_view suffix = "kB";
    if (!name.starts_with(prefix) || !name.ends_with(suffix))
        return {};
    name = name.substr(prefix.size(), name.size() - prefix.size() - suffix.size());
    std::size_t kib = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), kib);
    if (error != std::errc{} || end != name.data() + name.size() || kib == 0)
        return {};
    return kib << 10;
}

//! A kernel without NUMA has no folder of nodes; there "node 0" is the whole machine.
bool is_whole_machine(std::optional<int> node, const host::Root& root)
{
    std::error_code ignored;
    return !node || (*node == 0 && !fs::exists(root(nodes_folder), ignored));
}

//! The folder of one pool. Throws as read_pool().
std::string pool_folder(std::size_t page_size, std::optional<int> node, const host::Root& root)
{
    const std::vector<std::size_t> sizes = hugepage_sizes(root);
    if (std::find(sizes.begin(), sizes.end(), page_size) == sizes.end()) {
        std::string list;
        for (const std::size_t size : sizes)
            list += (list.empty() ? "" : ", ") + format_size(size);
        throw Error{EINVAL,
                    {.trouble = Trouble::hugepages,
                     .what = "hugepages of " + format_size(page_size),
                     .limit = "the kernel's hugepage sizes are " + (list.empty() ? "none" : list),
                     .remedy = list.empty() ? "a kernel with CONFIG_HUGETLBFS is needed" : "use one of these sizes"}};
    }
    if (is_whole_machine(node, root))
        return std::string{machine_folder} + '/' + size_name(page_size);
    const std::string folder = std::string{nodes_folder} + "/node" + std::to_string(*node);
    std::error_code ignored;
    if (*node < 0 || !fs::exists(root(folder), ignored)) {
        std::string list;
        for (const host::Node& known : host::nodes(root))
            list += (list.empty() ? "" : ", ") + std::to_string(known.id);
        throw Error{ENOENT,
                    {.trouble = Trouble::hugepages,
                     .what = "hugepages of " + format_size(page_size) + of_node(node),
                     .limit = "the machine's NUMA nodes are " + list,
                     .remedy = "use one of these nodes"}};
    }
    return folder + "/hugepages/" + size_name(page_size);
}

std::uint64_t required_number(const std::string& file, const host::Root& root)
{
    if (const auto number = root.number(file))
        return *number;
    throw Error{EIO,
                {.trouble = Trouble::internal,
                 .what = "reading " + file,
                 .limit = "no number could be read there",
                 .remedy = "check that /sys is mounted"}};
}

void write_number(const fs::path& file, std::uint64_t number, const std::string& what)
{
    const auto fail = [&](int error) {
        const bool forbidden = error == EACCES || error == EPERM || error == EROFS;
        throw Error{error,
                    {.trouble = forbidden         ? Trouble::permission
                                : error == EINVAL ? Trouble::unsupported
                                                  : Trouble::internal,
                     .what = what,
                     .limit = "writing " + file.string() + ": " + std::strerror(error),
                     .remedy = error == EROFS
                                   ? "/sys is mounted read-only here: do it on the host, outside a container"
                               : forbidden ? "run it as root"
                                           : "this kernel does not resize this pool at run time"}};
    };
    const FileDescriptor fd{::open(file.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC)};
    if (fd.get() < 0)
        fail(errno);
    const std::string text = std::to_string(number) + '\n';
    ssize_t written = 0;
    do
        written = ::write(fd.get(), text.data(), text.size());
    while (written < 0 && errno == EINTR);
    if (written < 0)
        fail(errno);
}

} // namespace

std::vector<std::size_t> hugepage_sizes(const host::Root& root)
{
    std::vector<std::size_t> sizes;
    for (const std::string& name : root.names(machine_folder).value_or(std::vector<std::string>{}))
        if (const auto size = size_of_name(name))
            sizes.push_back(*size);
    std::sort(sizes.begin(), sizes.end());
    return sizes;
}

Pool read_pool(std::size_t page_size, std::optional<int> node, const host::Root& root)
{
    const std::string folder = pool_folder(page_size, node, root);
    Pool pool{.page_size = page_size, .node = node};
    pool.total = required_number(folder + "/nr_hugepages", root);
    pool.free = required_number(folder + "/free_hugepages", root);
    pool.surplus = required_number(folder + "/surplus_hugepages", root);
    if (is_whole_machine(node, root)) {
        pool.reserved = required_number(folder + "/resv_hugepages", root);
        pool.overcommit = required_number(folder + "/nr_overcommit_hugepages", root);
    }
    return pool;
}

std::vector<Pool> read_pools(std::span<const std::size_t> page_sizes, const host::Root& root)
{
    const std::vector<host::Node> nodes = host::nodes(root);
    std::vector<Pool> pools;
    for (const std::size_t page_size : page_sizes) {
        pools.push_back(read_pool(page_size, {}, root));
        for (const host::Node& node : nodes) {
            try {
                pools.push_back(read_pool(page_size, node.id, root));
            } catch (const Error& error) {
                if (error.error_number() != ENOENT) // a node that went away meanwhile
                    throw;
            }
        }
    }
    return pools;
}

PoolChange resize_pool(std::size_t page_size, std::optional<int> node, std::uint64_t pages, const host::Root& root)
{
    PoolChange change;
    change.before = read_pool(page_size, node, root);
    change.asked = pages;
    const auto ask = [&] {
        write_number(root(pool_folder(page_size, node, root) + "/nr_hugepages"), pages,
                     "a pool of " + std::to_string(pages) + " hugepages of " + format_size(page_size) +
                         of_node(node));
        change.after = read_pool(page_size, node, root);
    };
    ask();
    // The kernel stops half-way for anything that it would return to this thread for, which need not be a signal: an
    // io_uring that was closed just before will do.
    if (!change.met() && pages > change.before.total)
        ask();
    return change;
}

std::uint64_t add_whole_gigabytes(std::uint64_t gigabytes, std::optional<int> node, const host::Root& root)
{
    const std::vector<std::size_t> sizes = hugepage_sizes(root);
    if (gigabytes == 0 || std::find(sizes.begin(), sizes.end(), 1_GiB) == sizes.end())
        return 0;
    const fs::path demote = root(pool_folder(1_GiB, node, root) + "/demote");
    std::error_code ignored;
    if (!fs::exists(demote, ignored))
        return 0;
    const std::uint64_t small_before = read_pool(2_MiB, node, root).total;
    const Pool large = read_pool(1_GiB, node, root);
    const std::uint64_t large_before = large.total - large.surplus;
    const PoolChange change = resize_pool(1_GiB, node, large_before + gigabytes, root);
    const std::uint64_t obtained = change.after.total - std::min(change.after.total, large.total);
    if (obtained > 0) {
        try {
            write_number(demote, obtained, "splitting hugepages of 1 GiB");
        } catch (const Error&) {
            resize_pool(1_GiB, node, large_before, root);
            throw;
        }
    }
    resize_pool(1_GiB, node, large_before, root);
    const std::uint64_t small_after = read_pool(2_MiB, node, root).total;
    return (small_after - std::min(small_after, small_before)) / (1_GiB / 2_MiB);
}

Cause pool_too_small(const Pool& pool, std::uint64_t need)
{
    const std::uint64_t available = pool.available();
    const std::uint64_t missing = need > available ? need - available : 0;
    const std::uint64_t persistent = pool.total > pool.surplus ? pool.total - pool.surplus : 0;
    return {.trouble = Trouble::hugepages,
            .what = std::to_string(need) + " hugepages of " + format_size(pool.page_size) + of_node(pool.node),
            .limit = "free " + format_size(pool.page_size) + " hugepages" + of_node(pool.node) + " (pages)",
            .present = available,
            .need = need,
            .remedy = "try: mrz pools set " + short_size((persistent + missing) * pool.page_size) + '@' +
                      short_size(pool.page_size) + (pool.node ? ",node=" + std::to_string(*pool.node) : "")};
}

} // namespace mrz
