// SPDX-License-Identifier: BSD-3-Clause
#include <mrzone/mrzone.h>

#include "soft_domain.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>

namespace mrz::test {
namespace {

class CSnapshots : public SoftDomainTest {};

TEST_F(CSnapshots, CountTheRegionsOfADomain)
{
    mrz_domain_counts counts{};
    counts.struct_size = sizeof counts;
    ASSERT_EQ(mrz_domain_snapshot(domain(), &counts), 0) << mrz_last_error();
    EXPECT_EQ(counts.resident.regions, 0u);
    mrz_region* region = nullptr;
    ASSERT_EQ(mrz_region_register(domain(), memory(), memory_size, 0, nullptr, &region), 0) << mrz_last_error();
    mrz_region_info info{};
    info.struct_size = sizeof info;
    ASSERT_EQ(mrz_region_describe(region, &info), 0) << mrz_last_error();
    ASSERT_EQ(mrz_domain_snapshot(domain(), &counts), 0) << mrz_last_error();
    EXPECT_EQ(counts.closed, 0u);
    EXPECT_EQ(counts.resident.regions, 1u);
    EXPECT_EQ(counts.resident.bytes, memory_size);
    EXPECT_EQ(counts.resident.pinned_bytes, info.pinned_bytes);
    EXPECT_EQ(counts.resident.mtt_entries, info.mtt_entries);
    EXPECT_GT(counts.resident.keys, 0u);
    EXPECT_EQ(counts.arena.regions, 0u);
    EXPECT_EQ(counts.temporary.regions, 0u);
    EXPECT_EQ(counts.looked_up, 1u);
    EXPECT_EQ(counts.hidden, 0u);
    EXPECT_EQ(counts.shut, 0u);
    mrz_region_destroy(region);
    EXPECT_EQ(mrz_domain_close(domain()), 0) << mrz_last_error();
    ASSERT_EQ(mrz_domain_snapshot(domain(), &counts), 0) << mrz_last_error();
    EXPECT_EQ(counts.closed, 1u);
    EXPECT_EQ(counts.resident.bytes, 0u);
}

TEST_F(CSnapshots, AreFilledAsFarAsTheCallersStructGoes)
{
    mrz_domain_counts counts{};
    counts.struct_size = offsetof(mrz_domain_counts, looked_up);
    counts.readers = 77;
    ASSERT_EQ(mrz_domain_snapshot(domain(), &counts), 0) << mrz_last_error();
    EXPECT_EQ(counts.readers, 77u);
}

TEST_F(CSnapshots, BadArgumentsAreRefused)
{
    mrz_domain_counts counts{};
    EXPECT_EQ(mrz_domain_snapshot(domain(), &counts), -EINVAL);
    EXPECT_EQ(mrz_domain_snapshot(domain(), nullptr), -EINVAL);
    counts.struct_size = sizeof counts;
    EXPECT_EQ(mrz_domain_snapshot(nullptr, &counts), -EINVAL);
    mrz_arena_counts of_arena{};
    of_arena.struct_size = sizeof of_arena;
    EXPECT_EQ(mrz_arena_snapshot(nullptr, domain(), &of_arena), -EINVAL);
}

TEST_F(CSnapshots, AreOfferedToTelemetryWhereAnEalRuns)
{
    EXPECT_EQ(mrz_telemetry_offer(nullptr, 0), -ENODEV);
    EXPECT_THAT(mrz_last_error(), testing::HasSubstr("rte_eal_init"));
}

} // namespace
} // namespace mrz::test
