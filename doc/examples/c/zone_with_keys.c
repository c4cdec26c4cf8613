/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reserves memory that peers may read, and prints what they need for it, in C.
 *
 *     cc -o zone_with_keys zone_with_keys.c $(pkg-config --cflags --libs mrzone libdpdk)
 *     sudo ./zone_with_keys --in-memory --no-pci -l 0
 *
 * Needs some 40 free 2-MiB hugepages for the arena, and what the EAL takes for itself.
 */
#include <mrzone/mrzone.h>

#include <rte_eal.h>
#include <rte_errno.h>

#include <inttypes.h>
#include <stdio.h>

static int complain(void)
{
    fprintf(stderr, "%s\n", mrz_last_error());
    return 1;
}

/* Registered in one domain only, so that the keys are worth something with its queue pairs only. */
static int offer(const mrz_zone* table, const mrz_domain* domain)
{
    struct mrz_region_info info = {.struct_size = sizeof info};
    const mrz_region* region;
    char plan[256];

    /* Lent by the zone: there is nothing to destroy. */
    if (mrz_zone_region(table, domain, &region) != 0 || mrz_region_describe(region, &info) != 0 ||
        mrz_region_explain(region, plan, sizeof plan) < 0)
        return complain();
    printf("for peers: %" PRIu64 " bytes at iova %#" PRIx64 " by rkey %#" PRIx32 "\n", info.length, info.iova,
           info.rkey.value);
    printf("for work requests here: lkey %#" PRIx32 "\n", info.lkey.value);
    printf("%s\n", plan);
    return 0;
}

static int use_an_arena(mrz_domain* domain)
{
    struct mrz_arena_options options = {.struct_size = sizeof options, .size = UINT64_C(64) << 20};
    mrz_zone* table;
    mrz_arena* arena;
    int status;

    options.domains = &domain;
    options.domain_count = 1;
    if (mrz_arena_build("data", &options, &arena) != 0)
        return complain();
    if (mrz_zone_reserve(arena, "table", UINT64_C(32) << 20, MRZ_ACCESS_LOCAL_WRITE | MRZ_ACCESS_REMOTE_READ, 0,
                         &table) != 0) {
        status = complain();
    } else {
        status = offer(table, domain);
        mrz_zone_destroy(table);
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
