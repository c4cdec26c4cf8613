/* SPDX-License-Identifier: BSD-3-Clause */
#include "lookup_in_c.h"

struct looked_up look_up_in_c(const mrz_reader* reader, int to_read, const void* address, uint64_t length)
{
    struct mrz_lkey key = {0};
    struct looked_up result = {{0}, 0};
    const int found = (to_read ? mrz_lookup_to_read : mrz_lookup)(reader, address, length, &key);
    result.reach = (to_read ? mrz_lookup_reach_to_read : mrz_lookup_reach)(reader, address, length, &result.key);
    if (found != (result.reach != 0) || key.value != result.key.value)
        result.reach = UINT64_MAX;
    return result;
}
