// SPDX-License-Identifier: BSD-3-Clause
//
// Takes a packet buffer pool from an arena, and a zone from what is left.
//
//     meson setup build && ninja -C build
//     sudo build/pool_from_arena --in-memory --no-pci -l 0
//
// Needs some 70 free 2-MiB hugepages for the arena, and what the EAL takes for itself.
#include <mrzone/zone.hpp>

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_mbuf.h>

#include <cstdio>
#include <exception>
#include <memory>
#include <stdexcept>

using namespace mrz::literals;

namespace {

void use_an_arena()
{
    mrz::Arena arena = mrz::Arena::build("packets", {.size = 128_MiB});
    for (const mrz::Window& window : arena.windows())
        std::puts(window.plan(mrz::Limits{}).explain().c_str());

    // Freed before the arena, which otherwise would have to keep its memory.
    const std::unique_ptr<rte_mempool, decltype(&rte_mempool_free)> pool{
        rte_pktmbuf_pool_create("rx", 8191, 256, 0, RTE_MBUF_DEFAULT_BUF_SIZE, arena.socket_id()), &rte_mempool_free};
    if (!pool)
        throw std::runtime_error{rte_strerror(rte_errno)};
    std::printf("%u buffers from socket %d\n", rte_mempool_avail_count(pool.get()), arena.socket_id());

    const mrz::Zone table = arena.reserve("table", 32_MiB, mrz::Access::local_write, 32_MiB);
    std::printf("table: %s\n", table.plan(mrz::Limits{}).explain().c_str());
}

} // namespace

int main(int argc, char** argv)
{
    if (rte_eal_init(argc, argv) < 0) {
        std::fprintf(stderr, "cannot start the EAL: %s\n", rte_strerror(rte_errno));
        return 1;
    }
    int status = 0;
    try {
        use_an_arena();
    } catch (const std::exception& error) { // mrz::Error's text says the limit, its value and the remedy
        std::fprintf(stderr, "%s\n", error.what());
        status = 1;
    }
    rte_eal_cleanup();
    return status;
}
