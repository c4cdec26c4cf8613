// SPDX-License-Identifier: BSD-3-Clause
#include "native_pages.hpp"

#include "common/pool_request.hpp"

#include <mrzone/base.hpp>
#include <mrzone/hugepage.hpp>

#include <fmt/format.h>
#include <rte_eal.h>
#include <rte_mempool.h>

namespace mrz::testpmd {

std::size_t object_bytes(std::uint32_t count, std::size_t object) noexcept
{
    rte_mempool_objsz size = {};
    return std::size_t{count} * rte_mempool_calc_obj_size(static_cast<std::uint32_t>(object), 0, &size);
}

std::uint64_t native_pages(std::size_t bytes) noexcept
{
    constexpr std::uint64_t ring_and_heap = 2;
    // Objects do not cross pages, which leaves less than an eighth of a page unused.
    return (bytes + bytes / 8 + native_page_size - 1) / native_page_size + ring_and_heap;
}

std::string how_to_give(std::size_t bytes)
{
    const std::string need = fmt::format("it takes {} that the EAL has not", format_size(bytes));
    if (rte_eal_has_hugepages() == 0)
        return need + "; start the program with a larger -m";
    const app::PoolRequest enough{
        .page_size = native_page_size, .node = {}, .pages = read_pool(native_page_size).total + native_pages(bytes)};
    return fmt::format("{}; try: mrz pools set {}, and no --socket-limit", need, app::to_string(enough));
}

} // namespace mrz::testpmd
