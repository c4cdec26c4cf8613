// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Every allocation of a call fails once: it gives -ENOMEM and leaves nothing behind.
#include <mrzone/mrzone.h>

#include "soft_domain.hpp"
#include "support/failing_allocations.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <functional>

namespace mrz::test {
namespace {

class OutOfMemory : public SoftDomainTest {};

TEST_F(OutOfMemory, OpeningADomainGivesEnomem)
{
    mrz_domain* opened = nullptr;
    fail_each_allocation([&] {
        opened = reinterpret_cast<mrz_domain*>(8);
        const int result = mrz_domain_open("soft", &opened);
        EXPECT_EQ(opened == nullptr, result != 0);
        return result;
    });
    mrz_domain_destroy(opened);
}

TEST_F(OutOfMemory, RegisteringGivesEnomemAndLeavesNothingInTheDomain)
{
    mrz_region* region = nullptr;
    fail_each_allocation([&] {
        region = reinterpret_cast<mrz_region*>(8);
        const int result =
            mrz_region_register(domain(), memory(), memory_size, MRZ_ACCESS_LOCAL_WRITE, nullptr, &region);
        EXPECT_EQ(region == nullptr, result != 0);
        return result;
    });
    mrz_region_destroy(region);
    EXPECT_EQ(mrz_domain_close(domain()), 0) << mrz_last_error();
}

TEST_F(OutOfMemory, MakingAReaderGivesEnomem)
{
    mrz_reader* reader = nullptr;
    fail_each_allocation([&] { return mrz_reader_create(domain(), MRZ_LOOKUP_LAYOUT, &reader); });
    mrz_reader_destroy(reader);
    EXPECT_EQ(mrz_domain_close(domain()), 0) << mrz_last_error();
}

TEST_F(OutOfMemory, MakingACacheGivesEnomem)
{
    mrz_cache* cache = nullptr;
    fail_each_allocation([&] { return mrz_cache_create(domain(), nullptr, &cache); });
    mrz_cache_destroy(cache);
    EXPECT_EQ(mrz_domain_close(domain()), 0) << mrz_last_error();
}

TEST_F(OutOfMemory, LeadingAMovableKeyGivesEnomem)
{
    mrz_region* region = nullptr;
    ASSERT_EQ(mrz_region_register(domain(), memory(), memory_size, MRZ_ACCESS_LOCAL_WRITE, nullptr, &region), 0)
        << mrz_last_error();
    mrz_movable_key* key = nullptr;
    fail_each_allocation([&] { return mrz_movable_key_create(domain(), nullptr, &key); });
    const mrz_region_part part{region, nullptr, 0};
    mrz_remote_region remote{};
    remote.struct_size = sizeof remote;
    fail_each_allocation([&] { return mrz_movable_key_lead_to(key, &part, 1, &remote); });
    EXPECT_EQ(mrz_movable_key_remote(key, &remote), 0) << mrz_last_error();
    mrz_region_destroy(region);
    EXPECT_EQ(mrz_movable_key_remote(key, &remote), -ENOENT);
    mrz_movable_key_destroy(key);
    EXPECT_EQ(mrz_domain_close(domain()), 0) << mrz_last_error();
}

// Some are for what can be done without, so a call may succeed though one failed.
TEST_F(OutOfMemory, LeasingGivesALeaseOrEnomemAndHoldsNothing)
{
    mrz_cache* cache = nullptr;
    ASSERT_EQ(mrz_cache_create(domain(), nullptr, &cache), 0) << mrz_last_error();
    unsigned refused = 0;
    bool was_reached = true;
    for (unsigned allocation = 0; was_reached; ++allocation) {
        mrz_lease lease{};
        allocations_left = allocation;
        const int result = mrz_lease_acquire(cache, memory(), memory_size, MRZ_ACCESS_LOCAL_WRITE, &lease);
        was_reached = !allocations_left;
        allocations_left.reset();
        EXPECT_TRUE(result == 0 || result == -ENOMEM) << result;
        EXPECT_EQ(lease.length, result == 0 ? memory_size : 0);
        refused += result == 0 ? 0 : 1;
        mrz_lease_release(&lease);
        mrz_cache_invalidate(cache, memory(), memory_size);
    }
    EXPECT_GT(refused, 0u);
    EXPECT_EQ(mrz_cache_close(cache), 0) << mrz_last_error();
    mrz_cache_destroy(cache);
    EXPECT_EQ(mrz_domain_close(domain()), 0) << mrz_last_error();
}

// What stays is found, whatever could not be allocated while another had to go.
TEST_F(OutOfMemory, LeasingLosesSightOfNoOtherRegion)
{
    constexpr std::size_t page = 4096;
    bool was_reached = true;
    for (unsigned allocation = 0; was_reached; ++allocation) {
        mrz_cache_options options{};
        options.struct_size = sizeof options;
        options.keys = 4;
        options.merge_up_to = MRZ_MERGE_NOTHING;
        options.watch = MRZ_WATCH_NONE;
        mrz_cache* cache = nullptr;
        ASSERT_EQ(mrz_cache_create(domain(), &options, &cache), 0) << mrz_last_error();
        const auto lease = [&](std::size_t number) {
            mrz_lease taken{};
            const int result = mrz_lease_acquire(cache, memory() + number * page, page, 0, &taken);
            mrz_lease_release(&taken);
            return result;
        };
        for (std::size_t number = 0; number < 4; ++number)
            ASSERT_EQ(lease(number), 0) << mrz_last_error();
        allocations_left = allocation;
        static_cast<void>(lease(4)); // for which the first goes
        was_reached = !allocations_left;
        allocations_left.reset();
        const auto hits = [&] {
            mrz_cache_counts counts{};
            counts.struct_size = sizeof counts;
            EXPECT_EQ(mrz_cache_snapshot(cache, &counts), 0) << mrz_last_error();
            return counts.hits;
        };
        const std::uint64_t before = hits();
        for (const std::size_t number : {1, 2, 3})
            EXPECT_EQ(lease(number), 0) << mrz_last_error();
        EXPECT_EQ(hits(), before + 3) << "allocation " << allocation;
        mrz_cache_destroy(cache);
    }
}

TEST_F(OutOfMemory, DeregisteringLeavesNoKeyToFindAndLosesNoOtherForGood)
{
    const auto registered = [&](std::size_t offset, std::size_t length) {
        mrz_region* region = nullptr;
        EXPECT_EQ(mrz_region_register(domain(), memory() + offset, length, MRZ_ACCESS_LOCAL_WRITE, nullptr, &region),
                  0)
            << mrz_last_error();
        return region;
    };
    mrz_reader* reader = nullptr;
    ASSERT_EQ(mrz_reader_create(domain(), MRZ_LOOKUP_LAYOUT, &reader), 0) << mrz_last_error();
    mrz_region* const outer = registered(0, 8192);
    mrz_region* const inner = registered(4096, 4096);
    mrz_region* const beside = registered(12288, 4096);
    allocations_left = 0;
    mrz_region_destroy(outer);
    EXPECT_FALSE(allocations_left.has_value()) << "nothing was allocated, so nothing was tried";
    allocations_left.reset();
    mrz_lkey key{};
    EXPECT_EQ(mrz_lookup(reader, memory(), 1, &key), 0);
    EXPECT_NE(mrz_lookup(reader, memory() + 12288, 1, &key), 0) << "of another region";
    EXPECT_EQ(key.value, mrz_region_lkey(beside).value);
    mrz_region_destroy(beside);
    EXPECT_NE(mrz_lookup(reader, memory() + 4096, 1, &key), 0);
    EXPECT_EQ(key.value, mrz_region_lkey(inner).value);
    mrz_region_destroy(inner);
    mrz_reader_destroy(reader);
}

TEST_F(OutOfMemory, ExplainingGivesEnomem)
{
    mrz_region* region = nullptr;
    ASSERT_EQ(mrz_region_register(domain(), memory(), memory_size, 0, nullptr, &region), 0) << mrz_last_error();
    fail_each_allocation([&] { return mrz_region_explain(region, nullptr, 0) > 0 ? 0 : -ENOMEM; });
    mrz_region_destroy(region);
}

} // namespace
} // namespace mrz::test
