/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads and writes of a storage system, from buffers that it finds anywhere: keys on demand, kept for the next use,
 * in C.
 *
 *     cc -o storage_buffers storage_buffers.c $(pkg-config --cflags --libs mrzone)
 *     ./storage_buffers
 *
 * Needs no EAL and no hugepages.
 */
#include <mrzone/mrzone.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { BLOCK = 64 << 10, BLOCKS = 64, REQUESTS = 1000 };

static int complain(void)
{
    fprintf(stderr, "%s\n", mrz_last_error());
    return 1;
}

/* Where a program posts its work request and polls for the completion. */
static void transfer(const struct mrz_lease* lease)
{
    (void)lease; /* { .addr = lease->iova, .length = lease->length, .lkey = lease->lkey.value } */
}

/* One block after another, most of them from the first few. */
static int one_by_one(mrz_cache* cache, unsigned char* blocks)
{
    struct mrz_lease lease;
    unsigned i;

    for (i = 0; i < REQUESTS; ++i) {
        const size_t block = i % 5 != 0 ? i % 8 : i % BLOCKS;
        if (mrz_lease_acquire(cache, blocks + block * BLOCK, BLOCK, MRZ_ACCESS_LOCAL_WRITE, &lease) != 0)
            return complain();
        transfer(&lease);
        mrz_lease_release(&lease);
    }
    return 0;
}

/* A list of blocks for one transfer: a key for all of them, or an error. */
static int together(mrz_cache* cache, unsigned char* blocks)
{
    struct mrz_lease_request requests[16] = {{0}};
    struct mrz_lease leases[16];
    unsigned i;

    for (i = 0; i < 16; ++i) {
        requests[i].address = blocks + i * 4 * BLOCK;
        requests[i].length = BLOCK;
        requests[i].access = MRZ_ACCESS_LOCAL_WRITE;
    }
    if (mrz_lease_acquire_all(cache, requests, 16, leases) != 0)
        return complain();
    printf("a list of 16 blocks: lkeys %#" PRIx32 " to %#" PRIx32 "\n", leases[0].lkey.value, leases[15].lkey.value);
    for (i = 0; i < 16; ++i) {
        transfer(&leases[i]);
        mrz_lease_release(&leases[i]);
    }
    return 0;
}

static int use_a_cache(mrz_cache* cache)
{
    struct mrz_cache_counts info = {.struct_size = sizeof info};
    unsigned char* blocks = aligned_alloc(BLOCK, (size_t)BLOCKS * BLOCK);
    int status;

    if (blocks == NULL)
        return 1;
    status = one_by_one(cache, blocks);
    if (status == 0)
        status = together(cache, blocks);
    /* The kernel tells a watched cache; where there is no userfaultfd nothing was kept. */
    free(blocks);
    if (status != 0)
        return status;
    if (mrz_cache_snapshot(cache, &info) != 0)
        return complain();
    printf("%" PRIu64 " leases of a region that was there, %" PRIu64 " registrations\n", info.hits, info.misses);
    return 0;
}

int main(void)
{
    struct mrz_cache_options options = {.struct_size = sizeof options, .bytes = UINT64_C(16) << 20};
    mrz_domain* domain;
    mrz_cache* cache;
    char reason[256];
    int status;

    if (mrz_domain_open("any", &domain) != 0)
        return complain();
    mrz_domain_reason(domain, reason, sizeof reason);
    printf("device: %s\n", reason);
    if (mrz_cache_create(domain, &options, &cache) != 0) {
        status = complain();
    } else {
        status = use_a_cache(cache);
        mrz_cache_destroy(cache);
    }
    mrz_domain_destroy(domain);
    return status;
}
