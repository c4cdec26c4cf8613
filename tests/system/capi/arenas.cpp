// SPDX-License-Identifier: BSD-3-Clause
#include <mrzone/mrzone.h>

#include "support/eal.hpp"
#include "support/failing_allocations.hpp"
#include "support/in_child.hpp"
#include "support/pool_guard.hpp"
#include "support/require.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <rte_memory.h>
#include <rte_memzone.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <unistd.h>

using namespace mrz::literals;
using testing::HasSubstr;

namespace mrz::test {
namespace {

constexpr std::uint32_t readable = MRZ_ACCESS_LOCAL_WRITE | MRZ_ACCESS_REMOTE_READ;

class CArenas : public testing::Test {
  protected:
    void SetUp() override
    {
        MRZ_REQUIRE(geteuid() == 0, "needs root");
        pool_.emplace(2_MiB, 128); // two windows with slack, and what the EAL itself takes
        free_ = pool_->free();
    }
    void TearDown() override
    {
        if (pool_) {
            EXPECT_EQ(pool_->free(), free_);
        }
    }
    //! Runs \p body in a child where an EAL runs and a domain of the software adapter is open.
    static void with_domain(const std::function<void(mrz_domain*)>& body)
    {
        in_child([&] {
            const Eal eal{{"--in-memory", "--vdev=net_null0"}};
            mrz_domain* domain = nullptr;
            ASSERT_EQ(mrz_domain_open("soft", &domain), 0) << mrz_last_error();
            body(domain);
            // Nothing is left in it.
            EXPECT_EQ(mrz_domain_close(domain), 0) << mrz_last_error();
            mrz_domain_destroy(domain);
        });
    }

  private:
    std::optional<PoolGuard> pool_;
    std::uint64_t free_ = 0;
};

mrz_arena* build(mrz_domain* const* domains, std::size_t count, std::uint64_t size = 16_MiB)
{
    mrz_arena_options options{};
    options.struct_size = sizeof options;
    options.size = size;
    options.domains = domains;
    options.domain_count = count;
    mrz_arena* arena = nullptr;
    EXPECT_EQ(mrz_arena_build("data", &options, &arena), 0) << mrz_last_error();
    return arena;
}

mrz_region_info describe(const mrz_region* region)
{
    mrz_region_info info{};
    info.struct_size = sizeof info;
    EXPECT_EQ(mrz_region_describe(region, &info), 0) << mrz_last_error();
    return info;
}

TEST_F(CArenas, AreNotOfferedToTelemetryWhereTheEalHasNone)
{
    with_domain([](mrz_domain*) {
        EXPECT_EQ(mrz_telemetry_offer(nullptr, 0), -ENOTSUP);
        EXPECT_THAT(mrz_last_error(), HasSubstr("--no-telemetry"));
    });
}

TEST_F(CArenas, AreOfferedToTelemetryAtAPathThatIsSaid)
{
    const std::string prefix = "mrz-c-telemetry-" + std::to_string(getpid());
    in_child([&] {
        const Eal eal{{"--in-memory", "--telemetry", "--file-prefix=" + prefix}};
        std::array<char, 256> path{};
        EXPECT_GT(mrz_telemetry_offer(path.data(), path.size()), 0) << mrz_last_error();
        EXPECT_EQ(path.data(), "/var/run/dpdk/" + prefix + "/dpdk_telemetry.v2");
    });
    std::filesystem::remove_all("/var/run/dpdk/" + prefix);
}

TEST_F(CArenas, SayWhatTheyAreMadeOf)
{
    with_domain([](mrz_domain* domain) {
        mrz_arena* arena = build(&domain, 1);
        ASSERT_NE(arena, nullptr);
        EXPECT_EQ(mrz_domain_close(domain), -EBUSY);
        mrz_arena_info info{};
        info.struct_size = sizeof info;
        ASSERT_EQ(mrz_arena_describe(arena, &info), 0) << mrz_last_error();
        EXPECT_EQ(info.size, 16_MiB);
        EXPECT_EQ(info.windows, 1u);
        EXPECT_GT(info.pages_ns, 0u);
        EXPECT_GT(info.pin_ns, 0u);
        EXPECT_GT(info.heap_ns, 0u);
        ASSERT_EQ(mrz_arena_grow(arena, 8_MiB), 0) << mrz_last_error();
        ASSERT_EQ(mrz_arena_describe(arena, &info), 0) << mrz_last_error();
        EXPECT_EQ(info.size, 24_MiB);
        EXPECT_EQ(info.windows, 2u);
        EXPECT_GE(mrz_arena_socket_id(arena), 256);
        mrz_arena_counts counts{};
        counts.struct_size = sizeof counts;
        ASSERT_EQ(mrz_arena_snapshot(arena, domain, &counts), 0) << mrz_last_error();
        EXPECT_EQ(counts.closed, 0u);
        EXPECT_EQ(counts.windows, 2u);
        EXPECT_EQ(counts.bytes, 24_MiB);
        EXPECT_EQ(counts.page_size, 2_MiB);
        EXPECT_EQ(counts.node_plus_one, 0u);
        EXPECT_EQ(counts.zones, 0u);
        EXPECT_EQ(counts.regions.regions, 4u); // of each window block and header page
        EXPECT_EQ(counts.regions.bytes, 28_MiB);
        mrz_domain_counts in_domain{};
        in_domain.struct_size = sizeof in_domain;
        ASSERT_EQ(mrz_domain_snapshot(domain, &in_domain), 0) << mrz_last_error();
        EXPECT_EQ(in_domain.arena.mtt_entries, counts.regions.mtt_entries);
        EXPECT_EQ(in_domain.resident.regions, 0u);
        ASSERT_EQ(mrz_arena_snapshot(arena, nullptr, &counts), 0) << mrz_last_error();
        EXPECT_EQ(counts.regions.regions, 0u);
        mrz_domain* other = nullptr;
        ASSERT_EQ(mrz_domain_open("soft", &other), 0) << mrz_last_error();
        EXPECT_EQ(mrz_arena_snapshot(arena, other, &counts), -EINVAL);
        mrz_domain_destroy(other);
        std::array<char, 512> text{};
        EXPECT_GT(mrz_arena_explain(arena, text.data(), text.size()), 0);
        EXPECT_THAT(text.data(), HasSubstr("1 key, "));
        EXPECT_EQ(mrz_arena_close(arena), 0) << mrz_last_error();
        EXPECT_EQ(mrz_arena_grow(arena, 8_MiB), -EBADF);
        ASSERT_EQ(mrz_arena_snapshot(arena, domain, &counts), 0) << mrz_last_error();
        EXPECT_EQ(counts.closed, 1u);
        EXPECT_EQ(counts.regions.regions, 0u);
        mrz_arena_destroy(arena);
    });
}

TEST_F(CArenas, AreNotClosedWhileAZoneLives)
{
    with_domain([](mrz_domain* domain) {
        mrz_arena* arena = build(&domain, 1);
        mrz_zone* zone = nullptr;
        ASSERT_EQ(mrz_zone_reserve(arena, "table", 1_MiB, readable, 0, &zone), 0) << mrz_last_error();
        EXPECT_EQ(mrz_arena_close(arena), -EBUSY);
        EXPECT_THAT(mrz_last_error(), HasSubstr("table"));
        // The handle may go first: the zone keeps the memory and its keys.
        mrz_arena_destroy(arena);
        std::memset(mrz_zone_address(zone), 1, 1_MiB);
        const mrz_region* region = nullptr;
        ASSERT_EQ(mrz_zone_region(zone, domain, &region), 0) << mrz_last_error();
        EXPECT_EQ(describe(region).length, 1_MiB);
        mrz_zone_destroy(zone);
    });
}

TEST_F(CArenas, LendTheRegionThatHoldsAnAddress)
{
    with_domain([](mrz_domain* domain) {
        mrz_arena* arena = build(&domain, 1);
        mrz_zone* zone = nullptr;
        ASSERT_EQ(mrz_zone_reserve(arena, "table", 16_MiB, MRZ_ACCESS_LOCAL_WRITE, 0, &zone), 0) << mrz_last_error();
        const mrz_region* region = nullptr;
        ASSERT_EQ(mrz_arena_region(arena, domain, mrz_zone_address(zone), mrz_zone_size(zone), &region), 0)
            << mrz_last_error();
        EXPECT_EQ(describe(region).length, 16_MiB);
        EXPECT_EQ(describe(region).access, static_cast<std::uint32_t>(MRZ_ACCESS_LOCAL_WRITE));
        // What needs no rights of its own uses the arena's keys.
        const mrz_region* of_zone = nullptr;
        ASSERT_EQ(mrz_zone_region(zone, domain, &of_zone), 0) << mrz_last_error();
        EXPECT_EQ(of_zone, region);

        int outside = 0;
        EXPECT_EQ(mrz_arena_region(arena, domain, &outside, sizeof outside, &region), -EFAULT);
        EXPECT_EQ(region, nullptr);
        mrz_domain* other = nullptr;
        ASSERT_EQ(mrz_domain_open("soft", &other), 0) << mrz_last_error();
        EXPECT_EQ(mrz_arena_region(arena, other, mrz_zone_address(zone), 1, &region), -EINVAL);
        EXPECT_EQ(mrz_zone_region(zone, other, &region), -EINVAL);
        EXPECT_EQ(mrz_zone_region(zone, nullptr, &region), -EINVAL);
        mrz_domain_destroy(other);
        mrz_zone_destroy(zone);
        mrz_arena_destroy(arena);
    });
}

TEST_F(CArenas, GiveAZoneWithARemoteRightKeysOfItsOwn)
{
    with_domain([](mrz_domain* domain) {
        mrz_arena* arena = build(&domain, 1);
        mrz_zone* zone = nullptr;
        ASSERT_EQ(mrz_zone_reserve(arena, "table", 5000, readable, 4096, &zone), 0) << mrz_last_error();
        EXPECT_EQ(mrz_zone_size(zone), 5000u);
        EXPECT_EQ(mrz_zone_access(zone), readable);
        const auto address = reinterpret_cast<std::uintptr_t>(mrz_zone_address(zone));
        EXPECT_EQ(address % 4096, 0u);
        EXPECT_EQ(mrz_zone_memzone(zone), rte_memzone_lookup("table"));
        const mrz_region* region = nullptr;
        ASSERT_EQ(mrz_zone_region(zone, domain, &region), 0) << mrz_last_error();
        const mrz_region_info info = describe(region);
        EXPECT_EQ(info.address, mrz_zone_address(zone));
        EXPECT_EQ(info.length, 5000u);
        EXPECT_EQ(info.iova, address);
        EXPECT_EQ(info.access, readable);
        const mrz_region* whole = nullptr;
        ASSERT_EQ(mrz_arena_region(arena, domain, mrz_zone_address(zone), mrz_zone_size(zone), &whole), 0)
            << mrz_last_error();
        EXPECT_NE(mrz_region_lkey(whole).value, info.lkey.value);
        EXPECT_NE(mrz_region_rkey(whole).value, info.rkey.value);
        std::array<char, 256> text{};
        EXPECT_GT(mrz_zone_explain(zone, text.data(), text.size()), 0);
        EXPECT_THAT(text.data(), HasSubstr("1 key, "));
        mrz_zone_destroy(zone);
        mrz_arena_destroy(arena);
    });
}

TEST_F(CArenas, RefuseZonesThatCannotBe)
{
    with_domain([](mrz_domain* domain) {
        mrz_arena* arena = build(&domain, 1);
        mrz_zone* zone = nullptr;
        const auto errno_of = [&](const char* name, std::uint64_t size, std::uint32_t access, std::uint64_t align) {
            mrz_zone* refused = reinterpret_cast<mrz_zone*>(8);
            const int result = mrz_zone_reserve(arena, name, size, access, align, &refused);
            EXPECT_EQ(refused, nullptr);
            return result;
        };
        ASSERT_EQ(mrz_zone_reserve(arena, "table", 4096, 0, 0, &zone), 0) << mrz_last_error();
        EXPECT_EQ(errno_of("table", 4096, 0, 0), -EEXIST);
        EXPECT_EQ(errno_of(nullptr, 4096, 0, 0), -EINVAL);
        EXPECT_EQ(errno_of(std::string(32, 'n').c_str(), 4096, 0, 0), -ENAMETOOLONG);
        EXPECT_EQ(errno_of("other", 0, 0, 0), -EINVAL);
        EXPECT_EQ(errno_of("other", 4096, 0, 3), -EINVAL);
        EXPECT_EQ(errno_of("other", 32_MiB, 0, 0), -ENOMEM);
        EXPECT_EQ(errno_of("other", 4096, 1u << 8, 0), -EINVAL);
        EXPECT_EQ(errno_of("other", 4096, MRZ_ACCESS_REMOTE_WRITE, 0), -EINVAL);
        EXPECT_THAT(mrz_last_error(), HasSubstr("local write"));
        mrz_zone_destroy(zone);
        mrz_arena_destroy(arena);
    });
}

TEST_F(CArenas, AreBuiltForACallerWhoseOptionsHaveNoDomains)
{
    with_domain([](mrz_domain* domain) {
        mrz_arena_options options{};
        options.struct_size = offsetof(mrz_arena_options, domains);
        options.size = 8_MiB;
        options.domains = &domain; // not looked at
        options.domain_count = 1;
        mrz_arena* arena = nullptr;
        ASSERT_EQ(mrz_arena_build("data", &options, &arena), 0) << mrz_last_error();
        EXPECT_EQ(mrz_domain_close(domain), 0) << mrz_last_error();
        mrz_zone* zone = nullptr;
        EXPECT_EQ(mrz_zone_reserve(arena, "table", 4096, readable, 0, &zone), -EINVAL);
        ASSERT_EQ(mrz_zone_reserve(arena, "table", 4096, MRZ_ACCESS_LOCAL_WRITE, 0, &zone), 0) << mrz_last_error();
        mrz_zone_destroy(zone);
        mrz_arena_destroy(arena);
    });
}

TEST_F(CArenas, AreMappedForPortsThatAreThere)
{
    with_domain([](mrz_domain* domain) {
        mrz_arena* arena = build(&domain, 1);
        EXPECT_EQ(mrz_arena_map_for(arena, 0), 0) << mrz_last_error();
        EXPECT_EQ(mrz_arena_map_for(arena, 31), -ENODEV);
        mrz_arena_destroy(arena);
    });
}

TEST_F(CArenas, AreAttachedInSecondaryProcessesOnly)
{
    with_domain([](mrz_domain* domain) {
        mrz_arena* arena = reinterpret_cast<mrz_arena*>(8);
        EXPECT_EQ(mrz_arena_attach("data", &domain, 1, &arena), -ENOTSUP);
        EXPECT_EQ(arena, nullptr);
    });
}

TEST_F(CArenas, SurviveAnyAllocationThatFails)
{
    with_domain([](mrz_domain* domain) {
        mrz_arena_options options{};
        options.struct_size = sizeof options;
        options.size = 4_MiB;
        options.exact = 1;
        options.domains = &domain;
        options.domain_count = 1;
        mrz_arena* arena = nullptr;
        fail_each_allocation([&] { return mrz_arena_build("data", &options, &arena); });
        ASSERT_NE(arena, nullptr);
        mrz_zone* zone = nullptr;
        fail_each_allocation([&] { return mrz_zone_reserve(arena, "table", 8192, readable, 0, &zone); });
        const mrz_region* region = nullptr;
        EXPECT_EQ(mrz_zone_region(zone, domain, &region), 0) << mrz_last_error();
        fail_each_allocation([&] { return mrz_arena_grow(arena, 4_MiB); });
        mrz_zone_destroy(zone);
        EXPECT_EQ(mrz_arena_close(arena), 0) << mrz_last_error();
        mrz_arena_destroy(arena);
    });
}

} // namespace
} // namespace mrz::test
