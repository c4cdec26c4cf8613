// SPDX-License-Identifier: BSD-3-Clause
#include <mrzone/mrzone.h>

#include "handles.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

using namespace mrz::capi;

namespace {

// A Lease lives in its words: two pointers and a span, which stay what they are when the caller copies the struct.
static_assert(sizeof(mrz::Lease) == sizeof mrz_lease::held_ && alignof(mrz::Lease) <= alignof(mrz_lease));
static_assert(std::is_standard_layout_v<mrz::Lease>);

mrz::Lease& held(mrz_lease& lease) noexcept
{
    return *reinterpret_cast<mrz::Lease*>(lease.held_);
}

const mrz::Lease& held(const mrz_lease& lease) noexcept
{
    return *reinterpret_cast<const mrz::Lease*>(lease.held_);
}

bool holds(const mrz_lease* lease) noexcept
{
    return lease != nullptr && held(*lease);
}

std::span<std::byte> memory_at(void* address, uint64_t length) noexcept
{
    return {static_cast<std::byte*>(address), length};
}

//! What a work request takes.
void fill_in(mrz_lease& lease) noexcept
{
    const mrz::Lease& taken = held(lease);
    lease.address = taken.bytes().data();
    lease.length = taken.bytes().size();
    lease.iova = taken.iova().value();
    lease.lkey = {taken.lkey().value};
    lease.rkey = {taken.rkey().value};
}

} // namespace

int mrz_lease_acquire(mrz_cache* cache, void* address, uint64_t length, uint32_t access, mrz_lease* lease)
{
    const int result = guarded([&] {
        if (lease == nullptr)
            refuse("the lease is NULL", "give the address of a struct mrz_lease");
        // In its place at once, since every step shows in a hit.
        new (lease->held_) mrz::Lease{checked(cache).lease(memory_at(address, length), checked_access(access))};
        fill_in(*lease);
        return 0;
    });
    if (result != 0 && lease != nullptr)
        *lease = {};
    return result;
}

int mrz_lease_acquire_all(mrz_cache* cache, const mrz_lease_request* requests, size_t count, mrz_lease* leases)
{
    if (leases != nullptr)
        std::fill_n(leases, count, mrz_lease{});
    return guarded([&] {
        mrz::Cache& from = checked(cache);
        if (count > 0 && (requests == nullptr || leases == nullptr))
            refuse("an array of requests or leases is NULL, but their count is not 0", "give both");
        std::vector<mrz::LeaseRequest> asked;
        asked.reserve(count);
        for (const mrz_lease_request& request : std::span{requests, count}) {
            if (request.reserved != 0)
                refuse("a request has a reserved that is not 0", "set the whole struct to zero before its members");
            asked.push_back({memory_at(request.address, request.length), checked_access(request.access)});
        }
        std::vector<mrz::Lease> taken = from.lease_all(asked);
        for (std::size_t i = 0; i < count; ++i) {
            new (leases[i].held_) mrz::Lease{std::move(taken[i])};
            fill_in(leases[i]);
        }
        return 0;
    });
}

void mrz_lease_release(mrz_lease* lease)
{
    if (!holds(lease))
        return;
    held(*lease).release();
    *lease = {};
}

uint32_t mrz_lease_access(const mrz_lease* lease)
{
    return holds(lease) ? static_cast<std::uint32_t>(held(*lease).access()) : 0;
}

void* mrz_lease_region(const mrz_lease* lease, uint64_t* length)
{
    const std::span<std::byte> all = holds(lease) ? held(*lease).region_bytes() : std::span<std::byte>{};
    if (length != nullptr)
        *length = all.size();
    return all.data();
}
