/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Forwards packets between pairs of ports, as DPDK's basic forwarding sample ("skeleton") does, with every packet in
 * an arena. The lines marked "arena" are all that it takes; the others that name mrz_ hold what
 * they need, or say what it did.
 *
 *     cc -o skeleton_forwarding skeleton_forwarding.c $(pkg-config --cflags --libs mrzone libdpdk)
 *     sudo ./skeleton_forwarding --in-memory --no-pci -l 0 --vdev=net_null0 --vdev=net_null1
 *
 * Needs an even number of ports, some 40 free 2-MiB hugepages for the arena, and what the EAL takes for itself.
 * SIGINT or SIGTERM ends it.
 */
#include <mrzone/mrzone.h> /* arena */

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_lcore.h>
#include <rte_mbuf.h>

#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>

enum {
    descriptors = 512, /* of a queue */
    buffers = 8191,
    cache = 250, /* buffers that an lcore keeps for itself */
    burst = 32,
};

static atomic_bool stopping;

static void on_signal(int number)
{
    (void)number;
    stopping = true;
}

/* One queue each way, with the packets that arrive in buffers of the pool. */
static int open_port(uint16_t port, struct rte_mempool* pool)
{
    const struct rte_eth_conf configuration = {.rxmode = {.mq_mode = RTE_ETH_MQ_RX_NONE}};
    const unsigned socket = (unsigned)rte_eth_dev_socket_id(port);
    uint16_t rx_descriptors = descriptors;
    uint16_t tx_descriptors = descriptors;
    int error = rte_eth_dev_configure(port, 1, 1, &configuration);

    if (error == 0)
        error = rte_eth_dev_adjust_nb_rx_tx_desc(port, &rx_descriptors, &tx_descriptors);
    if (error == 0)
        error = rte_eth_rx_queue_setup(port, 0, rx_descriptors, socket, NULL, pool);
    if (error == 0)
        error = rte_eth_tx_queue_setup(port, 0, tx_descriptors, socket, NULL);
    if (error == 0)
        error = rte_eth_dev_start(port);
    if (error != 0) {
        fprintf(stderr, "cannot open port %u: %s\n", port, rte_strerror(-error));
        return error;
    }
    /* Not every device can; such a one passes on what is meant for it. */
    rte_eth_promiscuous_enable(port);
    return 0;
}

/* What comes in on a port goes out on its neighbour: 0 and 1, 2 and 3, … */
static uint64_t forward(void)
{
    struct rte_mbuf* packets[burst];
    uint64_t sum = 0;
    uint16_t port;

    while (!stopping) {
        RTE_ETH_FOREACH_DEV(port)
        {
            const uint16_t received = rte_eth_rx_burst(port, 0, packets, burst);
            const uint16_t sent = received == 0 ? 0 : rte_eth_tx_burst(port ^ 1, 0, packets, received);

            sum += sent;
            /* No room: dropped. */
            if (sent < received)
                rte_pktmbuf_free_bulk(packets + sent, received - sent);
        }
    }
    return sum;
}

static int open_and_forward(mrz_arena* arena)
{
    struct rte_mempool* pool;
    int status = 1;
    uint16_t port;

    pool = rte_pktmbuf_pool_create("packets", buffers, cache, 0, RTE_MBUF_DEFAULT_BUF_SIZE,
                                   mrz_arena_socket_id(arena)); /* arena */
    if (pool == NULL) {
        fprintf(stderr, "cannot make the pool: %s\n", rte_strerror(rte_errno));
        return 1;
    }
    RTE_ETH_FOREACH_DEV(port)
    {
        /* A refusal need not matter: a device that the kernel drives is told nothing. */
        if (mrz_arena_map_for(arena, port) < 0) /* arena */
            fprintf(stderr, "port %u: %s\n", port, mrz_last_error());
        if (open_port(port, pool) != 0)
            goto close;
    }
    printf("forwarding between %u ports\n", rte_eth_dev_count_avail());
    fflush(stdout);
    printf("%" PRIu64 " packets forwarded\n", forward());
    status = 0;

close:
    /* Ports hold buffers of the pool, so they go first. */
    RTE_ETH_FOREACH_DEV(port)
    {
        rte_eth_dev_stop(port);
        rte_eth_dev_close(port);
    }
    rte_mempool_free(pool);
    return status;
}

int main(int argc, char** argv)
{
    struct mrz_arena_options options = {.struct_size = sizeof options, .size = UINT64_C(64) << 20};
    mrz_arena* arena;
    char text[512];
    int status = 1;

    if (rte_eal_init(argc, argv) < 0) {
        fprintf(stderr, "cannot start the EAL: %s\n", rte_strerror(rte_errno));
        return 1;
    }
    signal(SIGINT, on_signal);
    signal(SIGTERM, on_signal);
    if (rte_eth_dev_count_avail() == 0 || rte_eth_dev_count_avail() % 2 != 0) {
        fprintf(stderr, "an even number of ports is needed, there are %u\n", rte_eth_dev_count_avail());
    } else if (mrz_arena_build("packets", &options, &arena) != 0) { /* arena */
        fprintf(stderr, "%s\n", mrz_last_error());
    } else {
        mrz_arena_explain(arena, text, sizeof text);
        printf("%s\n", text);
        status = open_and_forward(arena);
        mrz_arena_destroy(arena); /* arena */
    }
    rte_eal_cleanup();
    return status;
}
