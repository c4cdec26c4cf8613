// SPDX-License-Identifier: BSD-3-Clause
#include <mrzone/base.hpp>
#include <mrzone/mrzone.h>

#include "support/eal.hpp"
#include "support/in_child.hpp"
#include "support/pool_guard.hpp"
#include "support/require.hpp"

#include <gtest/gtest.h>

#include <rte_malloc.h>

#include <cstddef>
#include <cstdint>
#include <unistd.h>

using namespace mrz::literals;

namespace mrz::test {
namespace {

mrz_cache_counts snapshot(const mrz_cache* cache)
{
    mrz_cache_counts info{};
    info.struct_size = sizeof info;
    EXPECT_EQ(mrz_cache_snapshot(cache, &info), 0) << mrz_last_error();
    return info;
}

TEST(CCaches, LeaseMemoryOfDpdkUntilItIsGivenBack)
{
    MRZ_REQUIRE(geteuid() == 0, "needs root");
    const PoolGuard pool{2_MiB, 64};
    const std::uint64_t free = pool.free();
    in_child([] {
        const Eal eal{{"--in-memory"}};
        mrz_domain* domain = nullptr;
        ASSERT_EQ(mrz_domain_open("soft", &domain), 0) << mrz_last_error();
        mrz_cache* cache = nullptr;
        ASSERT_EQ(mrz_cache_create(domain, nullptr, &cache), 0) << mrz_last_error();
        auto* const memory = static_cast<std::byte*>(rte_malloc(nullptr, 8_MiB, 0));
        ASSERT_NE(memory, nullptr);
        mrz_lease lease{};
        ASSERT_EQ(mrz_lease_acquire(cache, memory, 100, MRZ_ACCESS_LOCAL_WRITE, &lease), 0) << mrz_last_error();
        std::uint64_t length = 0;
        auto* const region = static_cast<std::byte*>(mrz_lease_region(&lease, &length));
        EXPECT_EQ(length, 2_MiB) << "the hugepage around it";
        EXPECT_LE(region, memory);
        EXPECT_EQ(snapshot(cache).entries, 1U);
        mrz_lease_release(&lease);
        rte_free(memory);
        EXPECT_EQ(snapshot(cache).invalidations, 1U);
        EXPECT_EQ(snapshot(cache).regions, 0U);
        EXPECT_EQ(mrz_cache_close(cache), 0) << mrz_last_error();
        EXPECT_EQ(mrz_domain_close(domain), 0) << mrz_last_error();
        mrz_cache_destroy(cache);
        mrz_domain_destroy(domain);
    });
    EXPECT_EQ(pool.free(), free);
}

} // namespace
} // namespace mrz::test
