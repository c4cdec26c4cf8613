// SPDX-License-Identifier: BSD-3-Clause
#include "pool_bytes.hpp"

#include "common/pool_request.hpp"

#include <mrzone/base.hpp>
#include <mrzone/hugepage.hpp>

#include <fmt/format.h>
#include <rte_eal.h>
#include <rte_mempool.h>

#include <bit>

namespace mrz::testpmd {

std::size_t pool_bytes(std::uint32_t count, std::size_t object, std::size_t page_size)
{
    rte_mempool_objsz size = {};
    const std::size_t each = rte_mempool_calc_obj_size(static_cast<std::uint32_t>(object), 0, &size);
    const std::size_t in_a_page = page_size / each;
    const std::size_t pages = (count + in_a_page - 1) / in_a_page;
    const std::size_t ring = std::bit_ceil(std::size_t{count} + 1) * sizeof(void*);
    const std::size_t caches = RTE_MAX_LCORE * sizeof(rte_mempool_cache);
    return pages * page_size + ring + caches + 2_MiB;
}

std::uint64_t native_pages(std::size_t bytes) noexcept
{
    return (bytes + native_page_size - 1) / native_page_size;
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
