/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Takes a packet buffer pool from an arena, in C.
 *
 *     cc -o pool_from_arena pool_from_arena.c $(pkg-config --cflags --libs mrzone libdpdk)
 *     sudo ./pool_from_arena --in-memory --no-pci -l 0
 *
 * Needs some 40 free 2-MiB hugepages for the arena, and what the EAL takes for itself.
 */
#include <mrzone/mrzone.h>

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_mbuf.h>

#include <stdio.h>

int main(int argc, char** argv)
{
    struct mrz_arena_options options = {.struct_size = sizeof options, .size = UINT64_C(64) << 20};
    struct rte_mempool* pool;
    mrz_arena* arena;
    char text[512];
    int status = 1;

    if (rte_eal_init(argc, argv) < 0) {
        fprintf(stderr, "cannot start the EAL: %s\n", rte_strerror(rte_errno));
        return 1;
    }
    if (mrz_arena_build("packets", &options, &arena) != 0) {
        fprintf(stderr, "%s\n", mrz_last_error());
        goto cleanup;
    }
    mrz_arena_explain(arena, text, sizeof text);
    printf("%s\n", text);

    pool = rte_pktmbuf_pool_create("rx", 8191, 256, 0, RTE_MBUF_DEFAULT_BUF_SIZE, mrz_arena_socket_id(arena));
    if (pool == NULL) {
        fprintf(stderr, "cannot make the pool: %s\n", rte_strerror(rte_errno));
        goto destroy;
    }
    printf("%u buffers from socket %d\n", rte_mempool_avail_count(pool), mrz_arena_socket_id(arena));

    /* What lives in an arena goes first; until then closing it is refused. */
    rte_mempool_free(pool);
    if (mrz_arena_close(arena) != 0)
        fprintf(stderr, "%s\n", mrz_last_error());
    else
        status = 0;

destroy:
    mrz_arena_destroy(arena);
cleanup:
    rte_eal_cleanup();
    return status;
}
