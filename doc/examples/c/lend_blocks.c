/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lends blocks of a store to peers, each for a while, by one key that is led from block to block, in C. Nothing is
 * registered but the arena, once.
 *
 *     cc -o lend_blocks lend_blocks.c $(pkg-config --cflags --libs mrzone libdpdk)
 *     sudo ./lend_blocks --in-memory --no-pci -l 0
 *
 * Needs some 40 free 2-MiB hugepages for the arena, and what the EAL takes for itself; and a device whose driver has
 * movable keys: mlx5, or the software adapter.
 */
#include <mrzone/mrzone.h>

#include <rte_eal.h>
#include <rte_errno.h>

#include <inttypes.h>
#include <stdio.h>

enum { BLOCK = 64 << 10 };

static int complain(void)
{
    fprintf(stderr, "%s\n", mrz_last_error());
    return 1;
}

/* Where a program sends the offer to its peer, whose requests carry what is in it. */
static int offer(const char* what, const struct mrz_remote_region* remote)
{
    unsigned char message[MRZ_REMOTE_REGION_PACKED];

    if (mrz_remote_region_pack(remote, message, sizeof message) < 0)
        return complain();
    printf("%s: %" PRIu64 " bytes at iova %#" PRIx64 " by rkey %#" PRIx32 "\n", what, remote->length, remote->iova,
           remote->rkey.value);
    return 0;
}

static int lend(mrz_movable_key* key, const mrz_region* region, unsigned char* store)
{
    struct mrz_remote_region remote = {.struct_size = sizeof remote};
    struct mrz_region_part parts[2] = {{region, store + 5 * BLOCK, BLOCK}, {region, store + 2 * BLOCK, BLOCK}};

    /* Two blocks that do not lie together are one range to the peer. */
    if (mrz_movable_key_lead_to(key, parts, 2, &remote) != 0 || offer("blocks 5 and 2", &remote) != 0)
        return complain();
    /* When this returns the first offer reaches nothing any more. */
    parts[0].address = store + 7 * BLOCK;
    if (mrz_movable_key_lead_to(key, parts, 1, &remote) != 0 || offer("block 7", &remote) != 0)
        return complain();
    /* And now nor does the second. */
    return mrz_movable_key_lead_nowhere(key) == 0 ? 0 : complain();
}

static int use_a_key(const mrz_domain* domain, const mrz_zone* store)
{
    struct mrz_movable_key_options options = {.struct_size = sizeof options};
    const mrz_region* region;
    mrz_movable_key* key;
    char plan[512];
    int status;

    /* The arena's own region, which grants nothing to peers: the zone asked for no remote right. */
    if (mrz_zone_region(store, domain, &region) != 0 || mrz_region_explain(region, plan, sizeof plan) < 0)
        return complain();
    printf("%s\n", plan);
    options.access = MRZ_ACCESS_REMOTE_READ | MRZ_ACCESS_REMOTE_WRITE;
    if (mrz_movable_key_create(domain, &options, &key) != 0)
        return complain();
    status = lend(key, region, mrz_zone_address(store));
    mrz_movable_key_destroy(key);
    return status;
}

static int use_an_arena(mrz_domain* domain)
{
    struct mrz_arena_options options = {.struct_size = sizeof options, .size = UINT64_C(64) << 20};
    mrz_zone* store;
    mrz_arena* arena;
    int status;

    options.domains = &domain;
    options.domain_count = 1;
    if (mrz_arena_build("data", &options, &arena) != 0)
        return complain();
    if (mrz_zone_reserve(arena, "store", UINT64_C(32) << 20, MRZ_ACCESS_LOCAL_WRITE, 0, &store) != 0) {
        status = complain();
    } else {
        status = use_a_key(domain, store);
        mrz_zone_destroy(store);
    }
    mrz_arena_destroy(arena);
    return status;
}

int main(int argc, char** argv)
{
    mrz_domain* domain;
    char reason[256];
    int status;

    if (rte_eal_init(argc, argv) < 0) {
        fprintf(stderr, "cannot start the EAL: %s\n", rte_strerror(rte_errno));
        return 1;
    }
    if (mrz_domain_open("any", &domain) != 0) {
        status = complain();
    } else {
        mrz_domain_reason(domain, reason, sizeof reason);
        printf("device: %s\n", reason);
        status = use_an_arena(domain);
        mrz_domain_destroy(domain);
    }
    rte_eal_cleanup();
    return status;
}
