// SPDX-License-Identifier: BSD-3-Clause
#include <mrzone/reader.hpp>
#include <mrzone/region.hpp>

#include "support/fake_driver.hpp"
#include "support/in_child.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace mrz::test {
namespace {

class DomainSnapshots : public testing::Test {
  protected:
    void SetUp() override { script() = {}; }

    static TierSnapshot sum_of(std::initializer_list<const Region*> regions)
    {
        TierSnapshot sum;
        for (const Region* const region : regions) {
            ++sum.regions;
            sum.bytes += region->bytes().size();
            sum.pinned_bytes += region->pinned_bytes();
            sum.keys += region->plan().keys.size() + (region->plan().indirect ? 1 : 0);
            sum.mtt_entries += region->plan().mtt_entries();
            sum.indirect_entries += region->plan().indirect_entries();
        }
        return sum;
    }
    static void expect_equal(const TierSnapshot& a, const TierSnapshot& b)
    {
        EXPECT_EQ(a.regions, b.regions);
        EXPECT_EQ(a.bytes, b.bytes);
        EXPECT_EQ(a.pinned_bytes, b.pinned_bytes);
        EXPECT_EQ(a.keys, b.keys);
        EXPECT_EQ(a.mtt_entries, b.mtt_entries);
        EXPECT_EQ(a.indirect_entries, b.indirect_entries);
    }
    std::vector<std::byte> memory = std::vector<std::byte>(100000);
};

TEST_F(DomainSnapshots, CountRegionsByTier)
{
    const Domain domain = Domain::open("soft");
    const std::span<std::byte> bytes{memory};
    const Region mine = domain.register_memory(bytes.first(5000));
    std::optional<Region> more = domain.register_memory(bytes);
    const Region arenas = domain.register_memory(bytes.first(9000), Access::local_write, {.tier = Tier::arena});
    const Region caches = domain.register_memory(bytes.first(1), Access::local_write, {.tier = Tier::temporary});
    const Reader reader{domain};
    DomainSnapshot now = domain.snapshot();
    EXPECT_EQ(now.device, "soft");
    EXPECT_EQ(now.driver, "soft");
    EXPECT_EQ(now.numa_node, 0);
    EXPECT_FALSE(now.closed);
    EXPECT_GT(now.resident.mtt_entries, 0u);
    expect_equal(now.resident, sum_of({&mine, &*more}));
    expect_equal(now.arena, sum_of({&arenas}));
    expect_equal(now.temporary, sum_of({&caches}));
    EXPECT_EQ(now.look_up.regions, 4u);
    EXPECT_EQ(now.look_up.readers, 1u);
    EXPECT_FALSE(now.device_caches.has_value());
    Region moved = *std::move(more);
    more.reset();
    expect_equal(domain.snapshot().resident, sum_of({&mine, &moved}));
    {
        const Region gone = std::move(moved);
    }
    expect_equal(domain.snapshot().resident, sum_of({&mine}));
}

TEST_F(DomainSnapshots, DoNotCountWhatFailed)
{
    const Domain domain = Domain::open("soft");
    script().on_query = [](std::vector<BuiltKey>& keys) { keys.clear(); };
    EXPECT_THROW(static_cast<void>(domain.register_memory(memory)), Error);
    expect_equal(domain.snapshot().resident, {});
}

TEST_F(DomainSnapshots, OfAClosedDomainSayThatItIs)
{
    Domain domain = Domain::open("soft");
    domain.close();
    EXPECT_TRUE(domain.snapshot().closed);
}

TEST_F(DomainSnapshots, AreHadByNumberOfWhatIsListed)
{
    std::optional<Domain> one = Domain::open("soft");
    script().hardware = {"hw0"};
    const Domain other = Domain::open("hw0");
    EXPECT_EQ(Domain::living(), (std::vector<Living>{{one->number(), "soft"}, {other.number(), "hw0"}}));
    EXPECT_EQ(Domain::snapshot_of(other.number())->device, "hw0");
    EXPECT_EQ(Domain::snapshot_of(other.number())->number, other.number());
    EXPECT_FALSE(Domain::snapshot_of(other.number() + 1).has_value());
    // It lives as long as what is in it.
    const std::uint64_t number = one->number();
    {
        const Region region = one->register_memory(memory);
        one.reset();
        EXPECT_EQ(Domain::snapshot_of(number)->resident.regions, 1u);
    }
    EXPECT_FALSE(Domain::snapshot_of(number).has_value());
    EXPECT_EQ(Domain::living().size(), 1u);
}

TEST_F(DomainSnapshots, AreNotHadOfAParentsDomain)
{
    const Domain domain = Domain::open("soft");
    const Region region = domain.register_memory(memory);
    in_child([&] {
        alarm(30);
        EXPECT_EQ(Domain::living().size(), 0u);
        EXPECT_FALSE(Domain::snapshot_of(domain.number()).has_value());
        try {
            static_cast<void>(domain.snapshot());
            ADD_FAILURE();
        } catch (const Error& error) {
            EXPECT_EQ(error.error_number(), ENOTSUP);
        }
        const Domain own = Domain::open("soft");
        EXPECT_EQ(Domain::living().size(), 1u);
        EXPECT_EQ(Domain::snapshot_of(own.number())->resident.regions, 0u);
    });
}

TEST_F(DomainSnapshots, AreWholeWhileOthersRegisterAndDomainsComeAndGo)
{
    std::atomic<int> working = 2;
    const Domain lasting = Domain::open("soft");
    const auto work = [&](std::size_t length) {
        for (int i = 0; i < 300; ++i) {
            const Domain passing = Domain::open("soft");
            const Region there = passing.register_memory(std::span{memory}.first(length));
            const Region here = lasting.register_memory(std::span{memory}.first(length));
        }
        --working;
    };
    std::thread workers[] = {std::thread{work, 5000}, std::thread{work, 9000}};
    while (working > 0)
        for (const Living& living : Domain::living())
            if (const auto now = Domain::snapshot_of(living.number)) {
                EXPECT_EQ(now->device, "soft");
                EXPECT_LE(now->resident.regions, 2u);
                EXPECT_EQ(now->resident.keys, now->resident.regions);
                EXPECT_EQ(now->resident.pinned_bytes, 4096 * now->resident.regions);
            }
    for (std::thread& worker : workers)
        worker.join();
    EXPECT_EQ(lasting.snapshot().resident.bytes, 0u);
    EXPECT_EQ(Domain::living().size(), 1u);
}

} // namespace
} // namespace mrz::test
