// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! The mlx5 driver in a guest: which device it is, what is pinned once, what keys grant, and what it refuses.
#include "support/eal.hpp"
#include "support/fragmented_pool.hpp"
#include "support/in_child.hpp"
#include "support/lowered.hpp"
#include "support/mapping.hpp"
#include "support/pair.hpp"
#include "support/refusal.hpp"
#include "support/require.hpp"

#include <mrzone/cache.hpp>
#include <mrzone/host.hpp>
#include <mrzone/movable_key.hpp>
#include <mrzone/region.hpp>
#include <mrzone/zone.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <infiniband/mlx5dv.h>
#include <infiniband/verbs.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <sys/mman.h>

namespace mrz::test {
namespace {

using testing::HasSubstr;

constexpr Access all_rights =
    Access::local_write | Access::remote_read | Access::remote_write | Access::remote_atomic;

std::uint64_t pinned()
{
    return host::locked_memory().pinned.value_or(0);
}

ibv_device* find_device(ibv_device** devices, int count)
{
    for (int i = 0; i < count; ++i)
        if (std::string{::ibv_get_device_name(devices[i])} == "mlx5_0")
            return devices[i];
    return nullptr;
}

//! Of an adapter whose firmware takes no commands from processes.
TEST(Mlx5WithoutDevX, RegistersByVerbsAndSaysWhy)
{
    const Domain domain = Domain::open("mlx5_0");
    EXPECT_EQ(domain.driver(), "verbs");
    EXPECT_THAT(domain.reason(), HasSubstr("without direct verbs, since the adapter takes no commands"));
    const Mapping mapping{64_KiB};
    const Region region = domain.register_memory(mapping.bytes(), all_rights);
    EXPECT_FALSE(region.built());
    EXPECT_EQ(region.plan().keys.size(), 1U);
    const Pair pair{domain, domain};
    const Segment room = segment(region, 0, 64);
    EXPECT_EQ(pair.status({.opcode = Opcode::rdma_write,
                           .segments = {&room, 1},
                           .remote_iova = region.iova() + 4096,
                           .rkey = region.rkey()}),
              WcStatus::success);
}

//! More than a gigabyte in one piece, which a kernel before 6.13 would be led to register in one page of 2 GiB, did
//! the placement not see to it that the addresses differ in that bit: by UMR its driver shifts an int.
TEST(Mlx5LargeArena, IsRegisteredInPagesThatTheKernelStands)
{
    const PoolOfGigabytes pool{1024};
    in_child([] {
        const Domain domain = Domain::open("mlx5_0");
        const Eal eal{{"--in-memory", "--iova-mode=va", "-m", "8"}};
        constexpr std::size_t size = 1536_MiB;
        Arena arena = Arena::build("data", {.size = size, .domains = {domain}});
        const std::span<std::byte> block = arena.windows().front().block();
        const Plan& planned = arena.region(domain, block.data(), block.size()).plan();
        std::printf("arena of 1.5 GiB: %s\n", planned.explain().c_str());
        EXPECT_LE(planned.mtt_entries(), 4U) << "the guest's pool is in pieces";
        const Mapping other{4096};
        const Region own = domain.register_memory(other.bytes(), Access::local_write);
        for (const char* const name : {"mlx5:mlx5_0", "verbs:mlx5_0"}) {
            SCOPED_TRACE(name);
            const Domain by = Domain::open(name);
            const Region region = by.register_memory(block, all_rights);
            std::printf("by %s: %s\n", name, region.plan().explain().c_str());
            for (const PlannedKey& key : region.plan().keys)
                EXPECT_LE(key.page_shift, host::max_registration_shift());
            const Region into = by.register_memory(other.bytes(), Access::local_write);
            block.front() = std::byte{0x11};
            block[1_GiB] = std::byte{0x22};
            block.back() = std::byte{0x33};
            for (const auto& [offset, expected] :
                 {std::pair{std::size_t{0}, 0x11}, {std::size_t{1_GiB}, 0x22}, {size - 1, 0x33}}) {
                const Pair pair{by, by};
                const Segment room = segment(into, 0, 1);
                EXPECT_EQ(pair.status({.opcode = Opcode::rdma_read,
                                       .segments = {&room, 1},
                                       .remote_iova = region.iova() + offset,
                                       .rkey = region.rkey()}),
                          WcStatus::success);
                EXPECT_EQ(std::to_integer<int>(other.bytes()[0]), expected);
            }
        }
        arena.close();
    });
}

class Mlx5 : public testing::Test {
  protected:
    void SetUp() override
    {
        // Any user may use a device that udev made, and there is none here.
        for (const auto& file : std::filesystem::directory_iterator{"/dev/infiniband"})
            std::filesystem::permissions(file, std::filesystem::perms{0666});
    }

    const Mapping mapping{1_MiB};
    const std::span<std::byte> memory = mapping.bytes();
};

TEST_F(Mlx5, IsTakenByAnyAndByItsName)
{
    const Domain any = Domain::open("any");
    EXPECT_EQ(any.name(), "mlx5_0");
    EXPECT_EQ(any.driver(), "mlx5");
    EXPECT_EQ(Domain::open("mlx5_0").driver(), "mlx5");
    EXPECT_EQ(Domain::open("mlx5:mlx5_0").driver(), "mlx5");
    EXPECT_EQ(Domain::open("verbs:mlx5_0").driver(), "verbs");
    const Error none = refusal([] { static_cast<void>(Domain::open("soft:mlx5_0")); });
    EXPECT_EQ(none.error_number(), ENODEV);
    EXPECT_THAT(none.cause().limit, HasSubstr("there are: soft"));
    EXPECT_FALSE(any.pins_again());
    const Limits limits = any.limits();
    EXPECT_EQ(limits.rule, PageSizeRule::umem);
    EXPECT_TRUE(limits.indirect.klm);
    EXPECT_TRUE(limits.indirect.ksm);
    EXPECT_EQ(limits.max_page_shift, host::max_registration_shift());
}

TEST_F(Mlx5, AdoptsAProtectionDomainAndLeavesItToTheApplication)
{
    int count = 0;
    ibv_device** const devices = ::ibv_get_device_list(&count);
    ibv_device* const device = find_device(devices, count);
    ASSERT_NE(device, nullptr);
    ibv_context* const context = ::ibv_open_device(device);
    ASSERT_NE(context, nullptr);
    ::ibv_free_device_list(devices);
    ibv_pd* const pd = ::ibv_alloc_pd(context);
    ASSERT_NE(pd, nullptr);
    {
        const Domain domain = Domain::adopt(pd);
        EXPECT_EQ(domain.name(), "mlx5_0");
        EXPECT_EQ(domain.driver(), "mlx5");
        const Region region = domain.register_memory(memory, all_rights);
        EXPECT_TRUE(region.built());
        // A key of the application's own works with it.
        ibv_mr* const own = ::ibv_reg_mr(pd, memory.data(), memory.size(), IBV_ACCESS_LOCAL_WRITE);
        ASSERT_NE(own, nullptr);
        const Pair pair{domain, domain};
        const Segment room{Iova{reinterpret_cast<std::uintptr_t>(memory.data())}, 64, LKey{own->lkey}};
        EXPECT_EQ(pair.status({.opcode = Opcode::rdma_read,
                               .segments = {&room, 1},
                               .remote_iova = region.iova() + 4096,
                               .rkey = region.rkey()}),
                  WcStatus::success);
        // What moves keys is in it, too, until the domain goes.
        MovableKey key{domain};
        const RemoteRegion remote = key.lead_to(region, memory.first(64));
        EXPECT_EQ(Pair(domain, domain)
                      .status({.opcode = Opcode::rdma_read,
                               .segments = {&room, 1},
                               .remote_iova = remote.iova,
                               .rkey = remote.rkey}),
                  WcStatus::success);
        EXPECT_EQ(::ibv_dereg_mr(own), 0);
    }
    EXPECT_EQ(::ibv_dealloc_pd(pd), 0) << "something was left in it";
    EXPECT_EQ(::ibv_close_device(context), 0);
}

TEST_F(Mlx5, PinsOnceForFourKeysWithFourDifferentRights)
{
    const Domain domain = Domain::open("mlx5_0");
    const std::uint64_t before = pinned();
    // The first may only be read, which must not keep the others from writing.
    constexpr std::array rights{Access::local_read, Access::local_write, Access::remote_read,
                                Access::local_write | Access::remote_write};
    {
        std::vector<Region> regions;
        for (const Access access : rights) {
            regions.push_back(domain.register_memory(memory, access));
            EXPECT_EQ(pinned(), before + memory.size()) << to_string(access);
        }
        const Mapping other{64_KiB};
        const Region own = domain.register_memory(other.bytes(), Access::local_write);
        for (const Region& region : regions) {
            SCOPED_TRACE(to_string(region.access()));
            const auto status = [&](Opcode opcode) {
                const Pair pair{domain, domain};
                const Segment room = segment(own, 0, 64);
                return pair.status({.opcode = opcode,
                                    .segments = {&room, 1},
                                    .remote_iova = region.iova() + 64,
                                    .rkey = region.rkey()});
            };
            EXPECT_EQ(status(Opcode::rdma_read), grants(region.access(), Access::remote_read)
                                                     ? WcStatus::success
                                                     : WcStatus::remote_access_error);
            EXPECT_EQ(status(Opcode::rdma_write), grants(region.access(), Access::remote_write)
                                                      ? WcStatus::success
                                                      : WcStatus::remote_access_error);
            // The owner's right to write: a receive of a read's bytes.
            const Pair pair{domain, domain};
            const Segment into = segment(region, 0, 64);
            const Region source = domain.register_memory(other.bytes(), Access::remote_read);
            EXPECT_EQ(pair.status({.opcode = Opcode::rdma_read,
                                   .segments = {&into, 1},
                                   .remote_iova = source.iova(),
                                   .rkey = source.rkey()}),
                      grants(region.access(), Access::local_write) ? WcStatus::success
                                                                   : WcStatus::local_protection_error);
        }
        // Any of them keeps it pinned.
        regions.erase(regions.begin(), regions.begin() + 3);
        EXPECT_GE(pinned(), before + memory.size());
    }
    EXPECT_EQ(pinned(), before);
}

TEST_F(Mlx5, PinsAgainWhatHasComeInPlaceOfPinnedMemory)
{
    const Domain domain = Domain::open("mlx5_0");
    const std::uint64_t before = pinned();
    const Mapping room{256_KiB};
    const std::span<std::byte> there = room.bytes();
    there[0] = std::byte{1};
    const Region first = domain.register_memory(there, all_rights);
    EXPECT_EQ(pinned(), before + there.size());
    ASSERT_EQ(
        ::mmap(there.data(), there.size(), PROT_READ | PROT_WRITE, MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
        there.data());
    there[0] = std::byte{2};
    const Region second = domain.register_memory(there, all_rights);
    EXPECT_EQ(pinned(), before + 2 * there.size());
    const Mapping other{4096};
    const Region own = domain.register_memory(other.bytes(), Access::local_write);
    const Pair pair{domain, domain};
    const Segment into = segment(own, 0, 1);
    for (const auto& [region, expected] : {std::pair{&first, std::byte{1}}, {&second, std::byte{2}}}) {
        EXPECT_EQ(pair.status({.opcode = Opcode::rdma_read,
                               .segments = {&into, 1},
                               .remote_iova = region->iova(),
                               .rkey = region->rkey()}),
                  WcStatus::success);
        EXPECT_EQ(other.bytes()[0], expected);
    }
}

TEST_F(Mlx5, PinsForItselfWhatIsToEndWithItsRegion)
{
    const Domain domain = Domain::open("mlx5_0");
    const std::uint64_t before = pinned();
    std::optional<Region> whole = domain.register_memory(memory, Access::local_write);
    const Region part =
        domain.register_memory(memory.first(4096), Access::local_write, {.how = {.sharing = Sharing::never}});
    EXPECT_EQ(pinned(), before + memory.size() + 4096);
    whole.reset();
    EXPECT_EQ(pinned(), before + 4096);
    // Nobody else shares it either.
    const Region again = domain.register_memory(memory.first(4096), Access::local_write);
    EXPECT_EQ(pinned(), before + 2 * 4096);
    // And who is much shorter than what is pinned does not keep it pinned, unless that is asked for.
    const Mapping large{2_MiB, MAP_HUGETLB | 21 << 26}; // one umem
    const Region all = domain.register_memory(large.bytes(), Access::local_write);
    const std::uint64_t now = pinned();
    const Region half = domain.register_memory(large.bytes().last(1_MiB), Access::local_write);
    EXPECT_EQ(pinned(), now);
    const Region less = domain.register_memory(large.bytes().first(1020_KiB), Access::local_write);
    EXPECT_EQ(pinned(), now + 1020_KiB);
    const Region any =
        domain.register_memory(large.bytes().first(4096), Access::local_write, {.how = {.sharing = Sharing::always}});
    EXPECT_EQ(pinned(), now + 1020_KiB);
    Cache cache{domain};
    const Lease lease = cache.lease(large.bytes().subspan(64_KiB, 64_KiB), Access::local_write);
    EXPECT_GE(pinned(), now + 1020_KiB + 64_KiB);
}

TEST_F(Mlx5, RevokesAKeyAndNotThePinning)
{
    const Domain domain = Domain::open("mlx5_0");
    const Mapping other{4096};
    const Region own = domain.register_memory(other.bytes(), Access::local_write);
    Region region = domain.register_memory(memory, Access::remote_read);
    const LKey lkey = region.lkey();
    const RKey old = region.rkey();
    const std::uint64_t before = pinned();
    const auto read_by = [&](RKey rkey) {
        const Pair pair{domain, domain};
        const Segment into = segment(own, 0, 8);
        return pair.status(
            {.opcode = Opcode::rdma_read, .segments = {&into, 1}, .remote_iova = region.iova(), .rkey = rkey});
    };
    EXPECT_EQ(read_by(old), WcStatus::success);
    const RemoteRegion remote = region.reissue();
    EXPECT_EQ(region.rkey(), remote.rkey);
    EXPECT_NE(remote.rkey.value & 0xff, old.value & 0xff);
    EXPECT_EQ(region.lkey(), lkey);
    EXPECT_EQ(pinned(), before);
    EXPECT_EQ(read_by(old), WcStatus::remote_access_error);
    EXPECT_EQ(read_by(remote.rkey), WcStatus::success);
}

TEST_F(Mlx5, ChoosesKeysAtRandom)
{
    const Domain domain = Domain::open("mlx5_0");
    std::set<std::uint32_t> variants;
    for (int i = 0; i < 64; ++i) {
        const Region region = domain.register_memory(memory.first(4096), Access::remote_read);
        EXPECT_NE(region.lkey().value, region.rkey().value);
        variants.insert(region.rkey().value & 0xff);
    }
    EXPECT_GT(variants.size(), 32U);
}

TEST_F(Mlx5, RefusesPagesOnDemandAndOffersAnotherWay)
{
    const Domain domain = Domain::open("mlx5_0");
    const Error error = refusal([&] {
        static_cast<void>(
            domain.register_memory(memory, Access::local_write, {.how = {.paging = Paging::on_demand}}));
    });
    EXPECT_EQ(error.error_number(), EOPNOTSUPP);
    EXPECT_THAT(error.cause().limit, HasSubstr("pinned"));
    EXPECT_THAT(error.cause().remedy, HasSubstr("the way memory_region"));
    // Which this adapter refuses for a reason of its own.
    const Error other = refusal([&] {
        static_cast<void>(domain.register_memory(memory, Access::local_write,
                                                 {.how = {.paging = Paging::on_demand, .way = Way::memory_region}}));
    });
    EXPECT_THAT(other.cause().limit, HasSubstr("takes no page faults"));
}

//! Of an arena a peer gets what it is to reach, for a while: nothing is pinned for that.
TEST_F(Mlx5, LetsAKeyLeadToAnyPartOfAnArenaWithoutPinning)
{
    in_child([] {
        const Domain domain = Domain::open("mlx5_0");
        const Eal eal{{"--in-memory", "--iova-mode=va", "-m", "8"}};
        Arena arena = Arena::build("data", {.size = 32_MiB, .domains = {domain}});
        const std::span<std::byte> block = arena.windows().front().block();
        const Region& region = arena.region(domain, block.data(), block.size());
        const Mapping other{4096};
        const Region own = domain.register_memory(other.bytes(), Access::local_write);
        MovableKey key{domain, {.access = Access::remote_read | Access::remote_write}};
        const std::uint64_t before = pinned();
        for (std::size_t at = 0; at < block.size(); at += 1_MiB + 4096) {
            const std::span<std::byte> part = block.subspan(at, 4096);
            part.front() = static_cast<std::byte>(at >> 20);
            const RemoteRegion remote = key.lead_to(region, part);
            const Pair pair{domain, domain};
            const Segment room = segment(own, 0, part.size());
            const auto read = [&](Iova iova) {
                return pair.status(
                    {.opcode = Opcode::rdma_read, .segments = {&room, 1}, .remote_iova = iova, .rkey = remote.rkey});
            };
            EXPECT_EQ(read(remote.iova), WcStatus::success);
            EXPECT_EQ(other.bytes()[0], part.front());
            EXPECT_EQ(read(remote.iova + 4), WcStatus::remote_access_error);
        }
        EXPECT_EQ(pinned(), before);
        arena.close();
        EXPECT_FALSE(key.remote());
    });
}

TEST_F(Mlx5, TellsTheOrderingThatItObtained)
{
    const Domain domain = Domain::open("mlx5_0");
    EXPECT_EQ(domain.register_memory(memory, Access::local_write).ordering(), Ordering::strict);
    const Region best = domain.register_memory(memory, Access::local_write, {.how = {.ordering = Ordering::best}});
    std::optional<Error> refused;
    try {
        const Region relaxed =
            domain.register_memory(memory, Access::local_write, {.how = {.ordering = Ordering::relaxed}});
        EXPECT_EQ(relaxed.ordering(), Ordering::relaxed);
    } catch (const Error& error) {
        refused = error;
        EXPECT_EQ(error.error_number(), EOPNOTSUPP);
        EXPECT_THAT(error.cause().limit, HasSubstr("relaxed_ordering_write"));
    }
    EXPECT_EQ(best.ordering(), refused ? Ordering::strict : Ordering::relaxed);
    const Region peers = domain.register_memory(memory, all_rights, {.how = {.ordering = Ordering::best}});
    const Mapping other{4096};
    const Region own =
        domain.register_memory(other.bytes(), Access::local_write, {.how = {.ordering = Ordering::best}});
    const Pair pair{domain, domain};
    const Segment room = segment(own, 0, 64);
    for (const Opcode opcode : {Opcode::rdma_write, Opcode::rdma_read})
        EXPECT_EQ(pair.status(
                      {.opcode = opcode, .segments = {&room, 1}, .remote_iova = peers.iova(), .rkey = peers.rkey()}),
                  WcStatus::success);
    MovableKey atomics{domain, {.access = Access::remote_atomic}};
    if (!refused) {
        EXPECT_EQ(refusal([&] { static_cast<void>(atomics.lead_to(best)); }).error_number(), EACCES);
    }
    // What ibv_reg_mr made of it nobody tells.
    for (const Ordering wanted : {Ordering::strict, Ordering::best}) {
        const Region region = domain.register_memory(memory, Access::local_write,
                                                     {.how = {.ordering = wanted, .way = Way::memory_region}});
        const bool strict = wanted == Ordering::strict;
        EXPECT_EQ(region.ordering(), strict ? std::optional{Ordering::strict} : std::nullopt);
        std::optional<Error> why;
        try {
            static_cast<void>(atomics.lead_to(region));
        } catch (const Error& error) {
            why = error;
            EXPECT_EQ(error.error_number(), EACCES);
        }
        EXPECT_EQ(why.has_value(), !strict);
    }
}

TEST_F(Mlx5, TakesTheWayThatCostsLessIfThatIsPreferred)
{
    const Domain domain = Domain::open("mlx5_0");
    // A little less than a hugepage: a page of 2 MiB covers it for ibv_reg_mr, and no umem may have one.
    const Mapping huge{2_MiB, MAP_HUGETLB | 21 << 26};
    const std::span<std::byte> part = huge.bytes().first(2_MiB - 4096);
    const RegionOptions direct{.indirect = false};
    const Region umem = domain.register_memory(part, Access::local_write, direct);
    EXPECT_EQ(umem.plan().mtt_entries(), 511U);
    EXPECT_THAT(umem.remark(), HasSubstr("ibv_reg_mr would have 1 entry in 1 key where umems have 511 entries"));
    RegionOptions fewest = direct;
    fewest.how.way = Way::fewest_entries;
    const Region region = domain.register_memory(part, Access::local_write, fewest);
    EXPECT_EQ(region.plan().mtt_entries(), 1U);
    EXPECT_EQ(region.remark(), "");
    // And a whole page needs no other way.
    const Region whole = domain.register_memory(huge.bytes().first(2_MiB), Access::local_write, fewest);
    EXPECT_TRUE(whole.built());
    EXPECT_EQ(whole.remark(), "");
}

TEST_F(Mlx5, RegistersMemoryThatMayOnlyBeReadWhereTheKernelDoes)
{
    const Domain domain = Domain::open("mlx5_0");
    const Mapping mapping_of_its_own{64_KiB};
    const std::span<std::byte> read_only = mapping_of_its_own.bytes();
    read_only[0] = std::byte{1};
    ASSERT_EQ(::mprotect(read_only.data(), read_only.size(), PROT_READ), 0);
    const Error error = refusal([&] { static_cast<void>(domain.register_memory(read_only, Access::local_write)); });
    EXPECT_EQ(error.cause().trouble, Trouble::permission) << error.what();
    std::optional<Error> refused; // Linux 6.1 pins for writing whatever the rights are
    try {
        const Region region = domain.register_memory(read_only, Access::remote_read);
    } catch (const Error& reading) {
        refused = reading;
        EXPECT_EQ(reading.cause().trouble, Trouble::permission) << reading.what();
    }
    try {
        const Region region = Domain::open("verbs:mlx5_0").register_memory(read_only, Access::remote_read);
        EXPECT_FALSE(refused);
    } catch (const Error&) {
        EXPECT_TRUE(refused);
    }
}

TEST_F(Mlx5, NamesTheLockedMemoryLimitAndPlansWithoutFrames)
{
    in_child([&] {
        constexpr std::size_t limit = 256_KiB;
        become_somebody(limit);
        const Domain domain = Domain::open("mlx5_0");
        EXPECT_EQ(domain.driver(), "mlx5");
        EXPECT_EQ(domain.dma_view(), DmaView::unknown);
        EXPECT_TRUE(domain.pins_again()) << "what is pinned cannot be recognized";
        const Region fits = domain.register_memory(memory.first(64_KiB));
        EXPECT_EQ(fits.plan().mtt_entries(), 16U);
        EXPECT_TRUE(fits.built());
        const Error error = refusal([&] { static_cast<void>(domain.register_memory(memory)); });
        EXPECT_EQ(error.error_number(), ENOMEM);
        EXPECT_EQ(error.cause().trouble, Trouble::locked_memory) << error.what();
    });
}

TEST_F(Mlx5, KeysZonesOfAnArenaOverWhatIsPinned)
{
    in_child([&] {
        const Domain domain = Domain::open("mlx5_0");
        const Eal eal{{"--in-memory", "--iova-mode=va", "-m", "8"}};
        Arena arena = Arena::build("data", {.size = 64_MiB, .domains = {domain}});
        const std::uint64_t before = pinned();
        {
            const Zone zone = arena.reserve("table", 1_MiB, all_rights);
            EXPECT_EQ(pinned(), before);
            const Region& region = zone.region(domain);
            EXPECT_EQ(region.bytes().size(), 1_MiB);
            EXPECT_EQ(region.plan().keys.size(), 1U);
            EXPECT_EQ(region.plan().mtt_entries(), 1U) << "the arena's pages are larger than the zone";
            // A peer reaches the zone, and not a byte beside it.
            const Mapping other{4096};
            const Region own = domain.register_memory(other.bytes(), Access::local_write);
            for (const auto& [offset, expected] : {std::pair{std::uint64_t{1_MiB - 8}, WcStatus::success},
                                                   {1_MiB - 7, WcStatus::remote_access_error}}) {
                const Pair pair{domain, domain};
                const Segment from = segment(own, 0, 8);
                EXPECT_EQ(pair.status({.opcode = Opcode::rdma_write,
                                       .segments = {&from, 1},
                                       .remote_iova = region.iova() + offset,
                                       .rkey = region.rkey()}),
                          expected);
            }
        }
        EXPECT_EQ(pinned(), before);
        arena.close();
    });
}

} // namespace
} // namespace mrz::test
