// SPDX-License-Identifier: BSD-3-Clause
#include <mrzone/fields.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <set>

namespace mrz::test {
namespace {

std::optional<std::uint64_t> number(const Fields& fields, const std::string& name)
{
    const auto found = std::ranges::find(fields, name, &Field::name);
    return found == fields.end() ? std::nullopt : std::optional{std::get<std::uint64_t>(found->value)};
}

//! As DPDK takes them, and none twice.
void expect_good_names(const Fields& fields)
{
    std::set<std::string> seen;
    for (const Field& field : fields) {
        EXPECT_TRUE(seen.insert(field.name).second) << field.name;
        EXPECT_EQ(field.name.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_/"),
                  std::string::npos)
            << field.name;
    }
}

TEST(Fields, OfADomainHaveItsTiersApart)
{
    const DomainSnapshot snapshot{.number = 3,
                                  .device = "hw0",
                                  .driver = "hardware",
                                  .numa_node = 1,
                                  .closed = true,
                                  .arena = {.regions = 10, .keys = 11},
                                  .resident = {.pinned_bytes = 12, .mtt_entries = 13},
                                  .temporary = {.bytes = 14, .indirect_entries = 15},
                                  .movable_keys = 19,
                                  .look_up = {.segments = 16, .hidden = 18},
                                  .device_caches = CacheCounters{.mpt_misses = 17}};
    const Fields fields = fields_of(snapshot);
    expect_good_names(fields);
    EXPECT_EQ(number(fields, "number"), 3u);
    EXPECT_EQ(number(fields, "numa_node"), 1u);
    EXPECT_EQ(number(fields, "closed"), 1u);
    EXPECT_EQ(number(fields, "arena/regions"), 10u);
    EXPECT_EQ(number(fields, "arena/keys"), 11u);
    EXPECT_EQ(number(fields, "resident/pinned_bytes"), 12u);
    EXPECT_EQ(number(fields, "resident/mtt_entries"), 13u);
    EXPECT_EQ(number(fields, "temporary/bytes"), 14u);
    EXPECT_EQ(number(fields, "temporary/indirect_entries"), 15u);
    EXPECT_EQ(number(fields, "movable_keys"), 19u);
    EXPECT_EQ(number(fields, "look_up/segments"), 16u);
    EXPECT_EQ(number(fields, "look_up/hidden"), 18u);
    EXPECT_EQ(number(fields, "device_caches/mpt_misses"), 17u);
}

TEST(Fields, LeaveOutWhatIsNotKnown)
{
    const Fields of_domain = fields_of(DomainSnapshot{});
    EXPECT_FALSE(number(of_domain, "numa_node").has_value());
    EXPECT_FALSE(number(of_domain, "device_caches/mtt_hits").has_value());
    EXPECT_FALSE(number(fields_of(ArenaSnapshot{}), "node").has_value());
    EXPECT_TRUE(number(fields_of(ArenaSnapshot{.name = {}, .node = 0}), "node").has_value());
    EXPECT_FALSE(
        number(fields_of(CacheSnapshot{.budget_entries = CacheOptions::unlimited}), "budget_entries").has_value());
    EXPECT_EQ(number(fields_of(CacheSnapshot{.budget_entries = 5}), "budget_entries"), 5u);
}

TEST(Fields, OfAnArenaHaveAPartForEachDomain)
{
    const Fields fields = fields_of(ArenaSnapshot{
        .name = "data", .domains = {{.domain = 0, .regions = {.keys = 2}}, {.domain = 7, .regions = {.keys = 3}}}});
    expect_good_names(fields);
    EXPECT_EQ(number(fields, "domain_0/keys"), 2u);
    EXPECT_EQ(number(fields, "domain_7/keys"), 3u);
}

TEST(Fields, OfPoolsTellTheMachineFromNodes)
{
    const std::vector<Pool> pools{{.page_size = 2_MiB, .total = 8, .free = 7, .reserved = 1},
                                  {.page_size = 2_MiB, .node = 1, .total = 4},
                                  {.page_size = 1_GiB, .total = 2}};
    const Fields fields = fields_of(pools);
    expect_good_names(fields);
    EXPECT_EQ(number(fields, "2MiB/machine/total"), 8u);
    EXPECT_EQ(number(fields, "2MiB/machine/reserved"), 1u);
    EXPECT_EQ(number(fields, "2MiB/node_1/total"), 4u);
    EXPECT_FALSE(number(fields, "2MiB/node_1/reserved").has_value());
    EXPECT_EQ(number(fields, "1GiB/machine/total"), 2u);
}

} // namespace
} // namespace mrz::test
