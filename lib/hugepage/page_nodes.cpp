// SPDX-License-Identifier: BSD-3-Clause
#include "page_nodes.hpp"

#include <mrzone/base.hpp>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include <numaif.h>

namespace mrz::hugepage {

void check_node(std::span<const std::byte> memory, std::size_t page_size, int node)
{
    std::vector<void*> pages;
    for (std::size_t offset = 0; offset < memory.size(); offset += page_size)
        pages.push_back(const_cast<std::byte*>(memory.data() + offset)); // which is only asked about
    std::vector<int> nodes(pages.size(), -ENODATA);
    if (::move_pages(0, pages.size(), pages.data(), nullptr, nodes.data(), 0) != 0) {
        const int error = errno;
        throw Error{error,
                    {.trouble = Trouble::permission,
                     .what = "hugepages from node " + std::to_string(node),
                     .limit = std::string{"where they lie cannot be asked, move_pages: "} + std::strerror(error),
                     .remedy = "allow move_pages in the container's seccomp profile, or ask for no node"}};
    }
    check_nodes(nodes, page_size, node);
}

void check_nodes(std::span<const int> nodes, std::size_t page_size, int node)
{
    const auto wrong = std::find_if(nodes.begin(), nodes.end(), [node](int got) { return got != node; });
    if (wrong == nodes.end())
        return;
    const auto right = static_cast<std::uint64_t>(std::count(nodes.begin(), nodes.end(), node));
    throw Error{ENOMEM,
                {.trouble = Trouble::hugepages,
                 .what = std::to_string(nodes.size()) + " hugepages of " + format_size(page_size) + " from node " +
                         std::to_string(node),
                 .limit = "pages that lie on node " + std::to_string(node) +
                          (*wrong < 0 ? std::string{" (of another the kernel says: "} + std::strerror(-*wrong) + ')'
                                      : " (the kernel gave one of node " + std::to_string(*wrong) + ')'),
                 .present = right,
                 .need = nodes.size(),
                 .remedy = "check the node's pool: mrz pools"}};
}

} // namespace mrz::hugepage
