// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Arenas that are registered, and zones with keys of their own.
#include <mrzone/host.hpp>
#include <mrzone/reader.hpp>
#include <mrzone/zone.hpp>

#include "support/eal.hpp"
#include "support/footprint.hpp"
#include "support/in_child.hpp"
#include "support/lowered.hpp"
#include "support/pool_guard.hpp"
#include "support/require.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <rte_malloc.h>
#include <rte_memzone.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include <sys/stat.h>
#include <unistd.h>

using namespace mrz;
using namespace mrz::test;
using testing::HasSubstr;

namespace {

constexpr Access readable = Access::remote_read;

class ArenaKeys : public testing::Test {
  protected:
    void SetUp() override
    {
        MRZ_REQUIRE(geteuid() == 0, "needs root");
        pool_.emplace(2_MiB, 128);
    }
    static std::vector<std::string> eal() { return {"--in-memory", "--iova-mode=va"}; }

    std::optional<PoolGuard> pool_;
};

struct Refusal {
    int error_number = 0;
    Trouble trouble = Trouble::internal;
    std::string text = "nothing was refused";
};

template <class Call>
Refusal refusal_of(Call&& call)
{
    try {
        static_cast<void>(call());
    } catch (const Error& error) {
        return {error.error_number(), error.cause().trouble, error.what()};
    }
    return {};
}

//! Two queue pairs of one domain, connected.
struct Pair {
    explicit Pair(const Domain& domain) : near{domain.create_queue_pair()}, far{domain.create_queue_pair()}
    {
        near->connect(far->local());
        far->connect(near->local());
    }
    WcStatus run(Opcode opcode, const Segment& local, Iova remote, RKey rkey) const
    {
        near->post_send({.opcode = opcode, .segments = {&local, 1}, .remote_iova = remote, .rkey = rkey});
        Completion completion;
        while (near->poll({&completion, 1}) == 0) {
        }
        return completion.status;
    }

    std::unique_ptr<QueuePair> near, far;
};

WcStatus transfer(const Domain& domain, Opcode opcode, const Segment& local, Iova remote, RKey rkey)
{
    return Pair{domain}.run(opcode, local, remote, rkey); // a failure ends a queue pair, so each has its own
}

Segment segment(const Region& region, const std::byte* address, std::uint32_t length)
{
    return {Iova{reinterpret_cast<std::uintptr_t>(address)}, length, region.lkey()};
}

std::uint64_t pinned()
{
    return host::locked_memory().pinned.value_or(0);
}

} // namespace

TEST_F(ArenaKeys, AnArenaIsPinnedOnceADomainUnderKeysThatGrantPeersNothing)
{
    in_child([] {
        const Eal eal_{eal()};
        Domain first = Domain::open("soft");
        const Domain second = Domain::open("soft");
        {
            const Arena arena = Arena::build("data", {.size = 32_MiB, .domains = {first, second}});
            ASSERT_EQ(arena.domains().size(), 2U);
            const Window& window = arena.windows()[0];
            for (const Domain& domain : arena.domains()) {
                const Region& block = arena.region(domain, window.block().data() + 5, 1);
                EXPECT_EQ(block.bytes().data(), window.block().data());
                EXPECT_EQ(block.bytes().size(), 32_MiB);
                EXPECT_EQ(block.access(), Access::local_write);
                EXPECT_EQ(block.domain(), domain);
                EXPECT_EQ(block.plan().mtt_entries(), window.plan(domain.limits()).mtt_entries());
                const Region& header = arena.region(domain, window.address(), Window::header_size);
                EXPECT_EQ(header.bytes().size(), Window::header_size);
                EXPECT_EQ(header.plan().mtt_entries(), 1U);
            }
            EXPECT_GE(pinned(), 34_MiB);
            EXPECT_THAT(refusal_of([&] { return first.close(), 0; }).text, HasSubstr("region of 32 MiB"));
        }
        EXPECT_EQ(pinned(), 0U);
        first.close();
    });
}

TEST_F(ArenaKeys, OwnerAndPacketsMoveBytesUnderTheArenasKey)
{
    in_child([] {
        const Eal eal_{eal()};
        const Domain domain = Domain::open("soft");
        const Arena arena = Arena::build("data", {.size = 16_MiB, .domains = {domain}});
        auto* const small = static_cast<std::byte*>(rte_malloc_socket("packet", 64, 64, arena.socket_id()));
        ASSERT_NE(small, nullptr);
        Arena other = Arena::build("other", {.size = 16_MiB, .domains = {domain}});
        const Zone peer = other.reserve("peer", 4_MiB, Access::local_write | Access::remote_write);
        std::memset(small, 0x5a, 64);
        EXPECT_EQ(transfer(domain, Opcode::rdma_write, segment(arena.region(domain, small, 64), small, 64),
                           peer.region(domain).iova() + (4_MiB - 64), peer.region(domain).rkey()),
                  WcStatus::success);
        EXPECT_EQ(std::memcmp(small, peer.bytes().data() + 4_MiB - 64, 64), 0);
        rte_free(small);
    });
}

TEST_F(ArenaKeys, AZoneWithoutARemoteRightUsesTheArenas)
{
    in_child([] {
        const Eal eal_{eal()};
        const Domain domain = Domain::open("soft");
        Arena arena = Arena::build("data", {.size = 16_MiB, .domains = {domain}});
        const std::uint64_t before = pinned();
        const Zone zone = arena.reserve("table", 4_MiB);
        EXPECT_EQ(zone.access(), Access::local_write);
        EXPECT_EQ(&zone.region(domain), &arena.region(domain, zone.bytes().data(), zone.bytes().size()));
        EXPECT_EQ(pinned(), before);
        // What a peer would need for it, it does not grant.
        EXPECT_EQ(transfer(domain, Opcode::rdma_write, segment(zone.region(domain), zone.bytes().data(), 8),
                           zone.region(domain).iova(), zone.region(domain).rkey()),
                  WcStatus::remote_access_error);
    });
}

TEST_F(ArenaKeys, AZoneWithARemoteRightIsExactlyWhatAPeerReaches)
{
    in_child([] {
        const Eal eal_{eal()};
        const Domain domain = Domain::open("soft");
        Arena arena = Arena::build("data", {.size = 16_MiB, .domains = {domain}});
        const Zone mine = arena.reserve("mine", 4096);
        constexpr std::size_t size = 3 * 4096 + 128;
        RKey stale;
        Iova at;
        {
            const Zone zone = arena.reserve("table", size, readable);
            const Region& region = zone.region(domain);
            stale = region.rkey();
            at = region.iova();
            EXPECT_EQ(at, Iova{reinterpret_cast<std::uintptr_t>(zone.bytes().data())});
            EXPECT_EQ(region.bytes().size(), size);
            EXPECT_EQ(region.access(), readable);
            zone.bytes().back() = std::byte{0x77};
            const Segment local = segment(mine.region(domain), mine.bytes().data(), 1);
            EXPECT_EQ(transfer(domain, Opcode::rdma_read, local, at + (size - 1), stale), WcStatus::success);
            EXPECT_EQ(mine.bytes()[0], std::byte{0x77});
            EXPECT_EQ(transfer(domain, Opcode::rdma_read, local, at + size, stale), WcStatus::remote_access_error);
            EXPECT_EQ(transfer(domain, Opcode::rdma_write, local, at, stale), WcStatus::remote_access_error);
        }
        EXPECT_EQ(
            transfer(domain, Opcode::rdma_read, segment(mine.region(domain), mine.bytes().data(), 1), at, stale),
            WcStatus::remote_access_error);
    });
}

TEST_F(ArenaKeys, AZoneHasAKeyInEachDomainThatWorksInNoOther)
{
    in_child([] {
        const Eal eal_{eal()};
        const Domain first = Domain::open("soft");
        const Domain second = Domain::open("soft");
        Arena arena = Arena::build("data", {.size = 16_MiB, .domains = {first, second}});
        const Zone zone = arena.reserve("table", 4096, readable);
        const Zone mine = arena.reserve("mine", 64);
        for (const Domain& domain : arena.domains()) {
            EXPECT_EQ(zone.region(domain).domain(), domain);
            EXPECT_EQ(mine.region(domain).domain(), domain);
            const Segment local = segment(mine.region(domain), mine.bytes().data(), 8);
            for (const Domain& other : arena.domains())
                EXPECT_EQ(
                    transfer(domain, Opcode::rdma_read, local, zone.region(other).iova(), zone.region(other).rkey()),
                    other == domain ? WcStatus::success : WcStatus::remote_access_error);
        }
    });
}

TEST_F(ArenaKeys, AZoneThatNoKeyOfTheArenaHoldsGetsItsOwn)
{
    in_child([] {
        const Eal eal_{eal()};
        const Domain domain = Domain::open("soft");
        Arena arena = Arena::build("data", {.size = 16_MiB, .domains = {domain}});
        const Zone zone = arena.reserve("both", 17_MiB); // the block, and a part of the header page
        EXPECT_LT(zone.bytes().data(), arena.windows()[0].block().data());
        const Region& region = zone.region(domain);
        EXPECT_EQ(region.bytes().data(), zone.bytes().data());
        EXPECT_EQ(region.bytes().size(), 17_MiB);
        EXPECT_EQ(region.plan().mtt_entries(), zone.plan(domain.limits()).mtt_entries());
    });
}

TEST_F(ArenaKeys, ReadersFindAnArenaByOneLoadAndWhatLiesOverTheEndOfAHeaderPageByASearch)
{
    in_child([] {
        const Eal eal_{eal()};
        const Domain domain = Domain::open("soft");
        const Reader reader{domain};
        {
            Arena arena = Arena::build("data", {.size = 16_MiB, .domains = {domain}});
            const Window& window = arena.windows()[0];
            const std::span<std::byte> block = window.block();
            EXPECT_EQ(domain.look_up_snapshot().in_slots, 2U);
            EXPECT_EQ(domain.look_up_snapshot().segments, 0U);
            EXPECT_EQ(reader.lookup(block.data(), block.size()), arena.region(domain, block.data(), 1).lkey());
            EXPECT_EQ(reader.lookup(window.address(), Window::header_size),
                      arena.region(domain, window.address(), 1).lkey());
            EXPECT_EQ(reader.lookup(block.data() - 1, 2), std::nullopt) << "two keys are not one";
            EXPECT_EQ(reader.lookup(block.data() + block.size() - 1, 2), std::nullopt);
            {
                const Zone zone = arena.reserve("both", 17_MiB);
                EXPECT_EQ(domain.look_up_snapshot().segments, 1U);
                EXPECT_EQ(reader.lookup(zone.bytes().data(), zone.bytes().size()), zone.region(domain).lkey());
                EXPECT_EQ(reader.lookup(block.data(), 1), arena.region(domain, block.data(), 1).lkey());
            }
            EXPECT_EQ(reader.lookup(block.data() - 1, 2), std::nullopt);
            arena.close();
            EXPECT_EQ(domain.look_up_snapshot().regions, 0U);
        }
    });
}

TEST_F(ArenaKeys, MemoryOverTheEndOfAHeaderPageIsRefusedRatherThanHalfCovered)
{
    in_child([] {
        const Eal eal_{eal()};
        const Domain domain = Domain::open("soft");
        const Arena arena = Arena::build("data", {.size = 16_MiB, .domains = {domain}});
        auto* const both = static_cast<std::byte*>(rte_malloc_socket("both", 17_MiB, 64, arena.socket_id()));
        ASSERT_NE(both, nullptr);
        std::byte* const block = arena.windows()[0].block().data();
        ASSERT_LT(both, block);
        const auto in_header = static_cast<std::size_t>(block - both);
        EXPECT_EQ(arena.region(domain, both, in_header).bytes().size(), Window::header_size);
        EXPECT_EQ(arena.region(domain, block, 17_MiB - in_header).bytes().size(), 16_MiB);
        const Refusal refusal = refusal_of([&] { return arena.region(domain, both, in_header + 1).lkey(); });
        EXPECT_EQ(refusal.error_number, EFAULT);
        EXPECT_THAT(refusal.text, HasSubstr("two pieces"));
        EXPECT_EQ(refusal_of([&] { return arena.region(domain, block, ~std::size_t{0}).lkey(); }).error_number,
                  EFAULT);
        rte_free(both);
    });
}

TEST_F(ArenaKeys, GrowingAddsKeysAndLeavesTheOthersInPlace)
{
    in_child([] {
        const Eal eal_{eal()};
        const Domain domain = Domain::open("soft");
        Arena arena = Arena::build("data", {.size = 16_MiB, .domains = {domain}});
        const Region* const first = &arena.region(domain, arena.windows()[0].block().data(), 1);
        const LKey key = first->lkey();
        arena.grow(8_MiB);
        EXPECT_EQ(&arena.region(domain, arena.windows()[0].block().data(), 1), first);
        EXPECT_EQ(first->lkey(), key);
        EXPECT_EQ(arena.region(domain, arena.windows()[1].block().data(), 8_MiB).bytes().size(), 8_MiB);
        const ArenaPhases phases = arena.phases();
        for (const auto phase : {phases.pages, phases.pin, phases.tables, phases.heap})
            EXPECT_GT(phase.count(), 0);
    });
}

TEST_F(ArenaKeys, RefusalsSayWhatIsMissingAndLeaveNothing)
{
    in_child([] {
        const Eal eal_{eal()};
        const Domain domain = Domain::open("soft");
        const Domain foreign = Domain::open("soft");
        Arena arena = Arena::build("data", {.size = 16_MiB, .domains = {domain}});
        Arena plain = Arena::build("plain", {.size = 2_MiB});
        EXPECT_EQ(refusal_of([&] { return arena.reserve("t", 64, Access::remote_write); }).error_number, EINVAL);
        EXPECT_EQ(rte_memzone_lookup("t"), nullptr);
        EXPECT_THAT(refusal_of([&] { return plain.reserve("t", 64, readable); }).text,
                    HasSubstr("build it with domains"));
        EXPECT_EQ(rte_memzone_lookup("t"), nullptr);
        EXPECT_THAT(refusal_of([&] { return arena.region(foreign, arena.windows()[0].address(), 1).lkey(); }).text,
                    HasSubstr("no keys in a domain of soft"));
        int outside = 0;
        EXPECT_EQ(refusal_of([&] { return arena.region(domain, &outside, sizeof outside).lkey(); }).error_number,
                  EFAULT);
        const Zone zone = arena.reserve("t", 64);
        EXPECT_EQ(refusal_of([&] { return zone.region(foreign).lkey(); }).error_number, EINVAL);
        EXPECT_EQ(refusal_of([&] { return arena.close(), 0; }).error_number, EBUSY);
        EXPECT_EQ(zone.region(domain).bytes().size(), 16_MiB); // refusing has changed nothing
        plain.close();
        EXPECT_EQ(refusal_of([&] { return plain.region(domain, nullptr, 1).lkey(); }).error_number, EBADF);
    });
}

TEST_F(ArenaKeys, AClosedDomainIsRefusedBeforeAnythingStays)
{
    in_child([] {
        const Eal eal_{eal()};
        Domain domain = Domain::open("soft");
        domain.close();
        const Footprint before = Footprint::now();
        EXPECT_EQ(refusal_of([&] { return Arena::build("data", {.size = 4_MiB, .domains = {domain}}); }).error_number,
                  EBADF);
        EXPECT_EQ(Footprint::now(), before);
        Arena::build("data", {.size = 4_MiB}).close(); // the name is free again
    });
}

TEST_F(ArenaKeys, ALockedMemoryLimitThatIsTooSmallGivesAllBack)
{
    // Where an EAL without privileges puts its folder; gone with the test.
    std::string folder = (std::filesystem::temp_directory_path() / "mrzone-test-XXXXXX").string();
    ASSERT_NE(mkdtemp(folder.data()), nullptr);
    ASSERT_EQ(chmod(folder.c_str(), 0777), 0);
    in_child([&folder] {
        ASSERT_EQ(setenv("XDG_RUNTIME_DIR", folder.c_str(), 1), 0);
        become_somebody(8_MiB);
        const Eal eal_{{"--no-huge", "--no-shconf", "-m", "16"}};
        const Domain domain = Domain::open("soft");
        const Footprint before = Footprint::now();
        const Refusal refusal =
            refusal_of([&] { return Arena::build("data", {.size = 16_MiB, .domains = {domain}}); });
        EXPECT_EQ(refusal.trouble, Trouble::locked_memory) << refusal.text;
        EXPECT_THAT(refusal.text, HasSubstr("building the arena \"data\"")); // before any page was taken
        EXPECT_THAT(refusal.text, HasSubstr("ulimit -l"));
        EXPECT_EQ(Footprint::now(), before);
        EXPECT_EQ(pinned(), 0U);
        Arena arena = Arena::build("data", {.size = 4_MiB, .domains = {domain}});
        const Refusal growth = refusal_of([&] { return arena.grow(4_MiB), 0; });
        EXPECT_EQ(growth.trouble, Trouble::locked_memory) << growth.text;
        EXPECT_EQ(arena.windows().size(), 1U);
    });
    std::filesystem::remove_all(folder);
}

TEST_F(ArenaKeys, MemoryThatIsKeptKeepsItsKeys)
{
    in_child([] {
        const Eal eal_{eal()};
        const Domain domain = Domain::open("soft");
        std::optional<Arena> arena = Arena::build("data", {.size = 4_MiB, .domains = {domain}});
        void* const block = rte_malloc_socket("block", 64, 64, arena->socket_id());
        ASSERT_NE(block, nullptr);
        set_log_sink([](Severity, std::string_view) {});
        arena.reset();
        EXPECT_GE(pinned(), 6_MiB);
        std::memset(block, 1, 64);
    });
}

TEST_F(ArenaKeys, AFragmentedArenaIsOneKeyOverSeveral)
{
    pool_.reset();
    const PoolGuard pool{2_MiB, 0};
    MRZ_REQUIRE(add_a_whole_gigabyte(), "needs a gigabyte in one piece");
    // Somebody holds a page in 20. The arena takes all that is left, so its pieces are runs that nothing can join.
    TakenPages held{2_MiB, read_pool(2_MiB).available()};
    const std::vector<DmaAddress> frames = held.frames();
    std::vector<std::size_t> order(frames.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::sort(order, {}, [&frames](std::size_t page) { return frames[page]; });
    std::vector<std::size_t> free;
    for (std::size_t i = 0; i < order.size(); ++i)
        if (i % 20 != 7)
            free.push_back(order[i]);
    held.give_back(free);
    const std::size_t size = (free.size() - 1) * 2_MiB; // and the header page
    in_child([size] {
        const Eal eal_{{"--no-huge", "--no-shconf", "-m", "64"}};
        const Domain domain = Domain::open("soft");
        Arena arena = Arena::build("data", {.size = size, .domains = {domain}});
        const Window& window = arena.windows()[0];
        const Region& block = arena.region(domain, window.block().data(), size);
        const Plan direct = make_plan(window.layout(), block.iova(), domain.limits());
        ASSERT_TRUE(block.plan().indirect) << block.plan().explain();
        EXPECT_GT(block.plan().keys.size(), 1U);
        EXPECT_LT(block.plan().total_entries(), direct.mtt_entries() / 4);
        ASSERT_EQ(block.built()->size(), block.plan().keys.size() + 1);
        EXPECT_EQ(block.built()->back().indirect, block.plan().indirect->kind);

        // Every byte is found through it, and across the places where one piece ends.
        const Zone zone = arena.reserve("table", size, Access::local_write | Access::remote_write);
        const std::span<std::byte> bytes = zone.bytes();
        std::vector<std::byte> source(2_MiB);
        const Region own = domain.register_memory(source);
        const Pair pair{domain};
        for (std::size_t offset = 1_MiB; offset + source.size() <= bytes.size(); offset += source.size()) {
            std::ranges::fill(source, static_cast<std::byte>(offset >> 20));
            ASSERT_EQ(pair.run(Opcode::rdma_write, segment(own, source.data(), 2_MiB),
                               zone.region(domain).iova() + offset, zone.region(domain).rkey()),
                      WcStatus::success);
        }
        for (std::size_t offset = 1_MiB; offset + source.size() <= bytes.size(); offset += source.size())
            for (const std::size_t at : {offset, offset + 1_MiB, offset + 2_MiB - 1})
                ASSERT_EQ(bytes[at], static_cast<std::byte>(offset >> 20)) << at;
        EXPECT_EQ(bytes[0], std::byte{});
        EXPECT_EQ(bytes[bytes.size() - 1], std::byte{});
    });
}
