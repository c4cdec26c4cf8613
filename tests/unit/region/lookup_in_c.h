/* SPDX-License-Identifier: BSD-3-Clause */
/** \file Look-ups as a C compiler makes them. */
#ifndef MRZONE_TESTS_LOOKUP_IN_C_H
#define MRZONE_TESTS_LOOKUP_IN_C_H

#include <mrzone/lookup.h>

#ifdef __cplusplus
extern "C" {
#endif

struct looked_up {
    struct mrz_lkey key;
    uint64_t reach; /**< 0: nothing was found. */
};

/** By mrz_lookup() and mrz_lookup_reach(), or their …_to_read(); reach is UINT64_MAX if they do not agree. */
struct looked_up look_up_in_c(const mrz_reader* reader, int to_read, const void* address, uint64_t length);

#ifdef __cplusplus
}
#endif

#endif
