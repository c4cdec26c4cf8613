// SPDX-License-Identifier: BSD-3-Clause
#include <mrzone/zone.hpp>

#include "support/eal.hpp"
#include "support/hugetlbfs_mount.hpp"
#include "support/in_child.hpp"
#include "support/pool_guard.hpp"
#include "support/require.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <rte_malloc.h>
#include <rte_mbuf.h>
#include <rte_memory.h>
#include <rte_mempool.h>
#include <rte_memzone.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <map>
#include <string>
#include <thread>
#include <vector>

using namespace mrz;
using namespace mrz::test;
using testing::HasSubstr;

namespace {

// Two windows of 64 MiB with slack, and what the EAL itself takes.
constexpr std::uint64_t pages_wanted = 256;

class Arenas : public testing::TestWithParam<std::string> {
  protected:
    void SetUp() override
    {
        MRZ_REQUIRE(geteuid() == 0, "needs root");
        pool_.emplace(2_MiB, pages_wanted);
        if (GetParam() == "Legacy")
            mount_.emplace();
    }
    std::vector<std::string> eal_arguments() const
    {
        const std::string mode = GetParam();
        const std::map<std::string, std::vector<std::string>> arguments = {
            {"PA", {"--in-memory", "--iova-mode=pa"}},
            {"VA", {"--in-memory", "--iova-mode=va"}},
            {"NoHuge", {"--no-huge", "--no-shconf", "-m", "64"}},
            {"Legacy",
             {"--legacy-mem", "--no-shconf", "-m", "16", "--huge-unlink",
              "--huge-dir=" + (mount_ ? mount_->path() : "")}},
        };
        return arguments.at(mode);
    }

    std::optional<PoolGuard> pool_;
    std::optional<HugetlbfsMount> mount_;
};

Limits umem_limits()
{
    return {.rule = PageSizeRule::umem};
}

int errno_of(const std::function<void()>& call)
{
    try {
        call();
    } catch (const Error& error) {
        return error.error_number();
    }
    return 0;
}

std::string text_of(const std::function<void()>& call)
{
    try {
        call();
    } catch (const Error& error) {
        return error.what();
    }
    return "no error";
}

} // namespace

TEST_P(Arenas, AZoneOfExactlyTheirSizeLiesOnTheBlock)
{
    in_child([this] {
        const Eal eal{eal_arguments()};
        Arena arena = Arena::build("data", {.size = 64_MiB});
        ASSERT_EQ(arena.windows().size(), 1u);
        const Zone zone = arena.reserve("table", 64_MiB);
        EXPECT_EQ(zone.bytes().data(), arena.windows()[0].block().data());
        EXPECT_EQ(zone.bytes().size(), 64_MiB);
        EXPECT_EQ(zone.plan({}).mtt_entries(), arena.windows()[0].plan({}).mtt_entries());
        EXPECT_EQ(zone.plan(umem_limits()).umems.at(0).length, 64_MiB);
        std::ranges::fill(zone.bytes(), std::byte{0x5a});
    });
}

TEST_P(Arenas, GiveDpdkTheAddressesThatItsModeAsksFor)
{
    in_child([this] {
        const Eal eal{eal_arguments()};
        Arena arena = Arena::build("data", {.size = 16_MiB});
        const Zone zone = arena.reserve("table", 16_MiB);
        const Frames frames = read_frames(zone.bytes().data(), 16_MiB, PageShift{21});
        ASSERT_TRUE(frames.complete());
        EXPECT_EQ(rte_malloc_virt2iova(zone.bytes().data()), zone.memzone()->iova);
        for (std::size_t page = 0; page < frames.addresses.size(); ++page) {
            std::byte* const address = zone.bytes().data() + page * 2_MiB;
            const rte_memseg* const segment = rte_mem_virt2memseg(address, nullptr);
            ASSERT_NE(segment, nullptr);
            EXPECT_EQ(segment->iova, rte_eal_iova_mode() == RTE_IOVA_PA ? frames.addresses[page].value()
                                                                        : reinterpret_cast<std::uintptr_t>(address));
        }
    });
}

TEST_P(Arenas, CarryAPacketPool)
{
    in_child([this] {
        const Eal eal{eal_arguments()};
        Arena arena = Arena::build("data", {.size = 64_MiB});
        EXPECT_GE(arena.socket_id(), 256);
        rte_mempool* const pool =
            rte_pktmbuf_pool_create("rx", 8191, 256, 0, RTE_MBUF_DEFAULT_BUF_SIZE, arena.socket_id());
        ASSERT_NE(pool, nullptr) << rte_strerror(rte_errno);
        rte_mbuf* const packet = rte_pktmbuf_alloc(pool);
        ASSERT_NE(packet, nullptr);
        const auto* data = static_cast<const std::byte*>(packet->buf_addr);
        const Window& window = arena.windows()[0];
        EXPECT_GE(data, window.address());
        EXPECT_LT(data, window.address() + window.length());

        const std::string refusal = text_of([&] { arena.close(); });
        EXPECT_THAT(refusal, HasSubstr("MP_rx"));
        EXPECT_EQ(errno_of([&] { arena.close(); }), EBUSY);
        std::memset(packet->buf_addr, 0x77, packet->buf_len); // the refused close has changed nothing

        rte_pktmbuf_free(packet);
        rte_mempool_free(pool);
        arena.close();
        EXPECT_EQ(rte_malloc_heap_get_socket("data"), -1);
    });
}

TEST_P(Arenas, GrowByAWindowWhileNothingMoves)
{
    in_child([this] {
        const Eal eal{eal_arguments()};
        Arena arena = Arena::build("data", {.size = 32_MiB});
        const Zone first = arena.reserve("first", 32_MiB);
        const std::byte* const place = first.bytes().data();
        first.bytes()[0] = std::byte{0x42};
        const Plan plan = arena.windows()[0].plan({});
        const std::vector<DmaAddress> frames{arena.windows()[0].frames().begin(), arena.windows()[0].frames().end()};
        EXPECT_EQ(errno_of([&] { static_cast<void>(arena.reserve("second", 48_MiB)); }), ENOMEM);
        arena.grow(48_MiB);
        EXPECT_EQ(arena.windows().size(), 2u);
        EXPECT_EQ(arena.size(), 80_MiB);
        const Zone second = arena.reserve("second", 48_MiB);
        EXPECT_EQ(second.bytes().data(), arena.windows()[1].block().data());
        EXPECT_EQ(first.bytes().data(), place);
        EXPECT_EQ(first.bytes()[0], std::byte{0x42});
        // The first window's own plan is what it was: same place, same pages, same keys.
        EXPECT_TRUE(std::ranges::equal(arena.windows()[0].frames(), frames));
        const Plan after = arena.windows()[0].plan({});
        EXPECT_EQ(after.keys.at(0).iova, plan.keys.at(0).iova);
        EXPECT_EQ(after.explain(), plan.explain());
        EXPECT_EQ(first.plan({}).mtt_entries(), plan.mtt_entries());
        EXPECT_EQ(first.plan({}).keys.at(0).iova.value(), reinterpret_cast<std::uintptr_t>(place));
    });
}

TEST_P(Arenas, ThatGrowByManyWindowsKeepEachOnesPlanAndEveryZone)
{
    in_child([this] {
        const Eal eal{eal_arguments()};
        scramble_pool(2_MiB);
        Arena arena = Arena::build("data", {.size = 8_MiB, .surplus = Surplus::exact()});
        std::vector<Zone> zones;
        std::vector<std::string> plans;
        for (int round = 0; round < 4; ++round) {
            if (round > 0)
                arena.grow(8_MiB);
            zones.push_back(arena.reserve("zone" + std::to_string(round), 8_MiB));
            plans.push_back(arena.windows().back().plan({}).explain());
            std::ranges::fill(zones.back().bytes(), std::byte(round + 1));
            for (std::size_t i = 0; i < zones.size(); ++i) {
                EXPECT_EQ(zones[i].bytes().data(), arena.windows()[i].block().data());
                EXPECT_EQ(zones[i].bytes()[12345], std::byte(i + 1));
                EXPECT_EQ(arena.windows()[i].plan({}).explain(), plans[i]);
            }
        }
    });
}

INSTANTIATE_TEST_SUITE_P(Eal, Arenas, testing::Values("PA", "VA", "NoHuge", "Legacy"),
                         [](const auto& mode) { return mode.param; });

class ArenaFaults : public testing::Test {
  protected:
    void SetUp() override
    {
        MRZ_REQUIRE(geteuid() == 0, "needs root");
        pool_.emplace(2_MiB, pages_wanted);
    }
    //! Free pages while nothing of ours holds any.
    std::uint64_t free_pages() const { return read_pool(2_MiB).free; }

    std::optional<PoolGuard> pool_;
};

TEST_F(ArenaFaults, WithoutAnEalTheErrorSaysSo)
{
    EXPECT_EQ(errno_of([] { Arena::build("data", {.size = 2_MiB}); }), ENODEV);
    EXPECT_EQ(errno_of([] { Arena::attach("data"); }), ENODEV);
}

TEST_F(ArenaFaults, NamesAreCheckedAndUnique)
{
    in_child([] {
        const Eal eal{{"--in-memory"}};
        EXPECT_EQ(errno_of([] { Arena::build("", {.size = 2_MiB}); }), EINVAL);
        EXPECT_EQ(errno_of([] { Arena::build(std::string(32, 'x'), {.size = 2_MiB}); }), ENAMETOOLONG);
        const Arena longest = Arena::build(std::string(31, 'x'), {.size = 2_MiB});
        Arena arena = Arena::build("data", {.size = 8_MiB});
        EXPECT_EQ(errno_of([] { Arena::build("data", {.size = 2_MiB}); }), EEXIST);
        const Zone zone = arena.reserve("table", 2_MiB);
        EXPECT_EQ(errno_of([&] { static_cast<void>(arena.reserve("table", 2_MiB)); }), EEXIST);
        EXPECT_EQ(errno_of([&] { static_cast<void>(arena.reserve("none", 0)); }), EINVAL);
        EXPECT_EQ(errno_of([&] { static_cast<void>(arena.reserve("odd", 64, Access::local_write, 3)); }), EINVAL);
        EXPECT_EQ(errno_of([&] { static_cast<void>(arena.reserve("far", 64, Access::local_write, 4_GiB)); }), EINVAL);
    });
}

TEST_F(ArenaFaults, ARefusedBuildLeavesNeitherHeapNorPages)
{
    const std::uint64_t before = free_pages();
    in_child([&] {
        const Eal eal{{"--in-memory"}};
        const std::uint64_t with_eal = read_pool(2_MiB).free;
        EXPECT_EQ(errno_of([] { Arena::build("data", {.size = 3}); }), EINVAL);
        EXPECT_EQ(errno_of([] { Arena::build("data", {.size = 0}); }), EINVAL);
        EXPECT_EQ(errno_of([] { Arena::build("data", {.size = 1_TiB}); }), ENOMEM);
        EXPECT_EQ(rte_malloc_heap_get_socket("data"), -1);
        EXPECT_EQ(read_pool(2_MiB).free, with_eal);
        Arena::build("data", {.size = 2_MiB}).close();
        EXPECT_EQ(read_pool(2_MiB).free, with_eal);
    });
    EXPECT_EQ(free_pages(), before);
}

TEST_F(ArenaFaults, ARefusedGrowthLeavesTheArenaAsItWas)
{
    in_child([] {
        const Eal eal{{"--in-memory"}};
        Arena arena = Arena::build("data", {.size = 8_MiB});
        EXPECT_EQ(errno_of([&] { arena.grow(1_TiB); }), ENOMEM);
        EXPECT_EQ(arena.windows().size(), 1u);
        const Zone zone = arena.reserve("table", 8_MiB);
    });
}

TEST_F(ArenaFaults, AClosedArenaSaysThatItIsClosed)
{
    in_child([] {
        const Eal eal{{"--in-memory"}};
        Arena arena = Arena::build("data", {.size = 8_MiB});
        arena.close();
        arena.close();
        EXPECT_EQ(errno_of([&] { arena.grow(2_MiB); }), EBADF);
        EXPECT_EQ(errno_of([&] { static_cast<void>(arena.reserve("table", 64)); }), EBADF);
        EXPECT_EQ(arena.size(), 0u);
    });
}

TEST_F(ArenaFaults, AZoneOutlivesTheHandle)
{
    in_child([] {
        const Eal eal{{"--in-memory"}};
        const std::uint64_t before = read_pool(2_MiB).free;
        {
            std::optional<Arena> arena = Arena::build("data", {.size = 8_MiB});
            const Zone zone = arena->reserve("table", 8_MiB);
            arena.reset();
            std::ranges::fill(zone.bytes(), std::byte{1});
            EXPECT_NE(rte_malloc_heap_get_socket("data"), -1);
        }
        EXPECT_EQ(rte_malloc_heap_get_socket("data"), -1);
        EXPECT_EQ(read_pool(2_MiB).free, before);
    });
}

TEST_F(ArenaFaults, MemoryInUseIsKeptAndSaidOnce)
{
    in_child([] {
        const Eal eal{{"--in-memory"}};
        std::vector<std::string> lines;
        set_log_sink([&](Severity, std::string_view line) { lines.emplace_back(line); });
        void* block = nullptr;
        {
            const Arena arena = Arena::build("data", {.size = 8_MiB});
            block = rte_malloc_socket("block", 1_MiB, 0, arena.socket_id());
            ASSERT_NE(block, nullptr);
        }
        set_log_sink({});
        std::memset(block, 1, 1_MiB);
        ASSERT_EQ(lines.size(), 1u);
        EXPECT_THAT(lines[0], HasSubstr("1 rte_malloc blocks"));
    });
}

TEST_F(ArenaFaults, AnOrdinaryUserGetsAnArenaAndIsToldWhatIsLost)
{
    in_child([] {
        ASSERT_EQ(setgid(65534), 0);
        ASSERT_EQ(setuid(65534), 0);
        const Eal eal{{"--no-huge", "--no-shconf", "-m", "64"}};
        std::vector<std::string> lines;
        set_log_sink([&](Severity, std::string_view line) { lines.emplace_back(line); });
        Arena arena = Arena::build("data", {.size = 8_MiB});
        Arena other = Arena::build("other", {.size = 8_MiB});
        set_log_sink({});
        EXPECT_EQ(lines.size(), 1u) << testing::PrintToString(lines);
        EXPECT_FALSE(arena.windows()[0].frames_known());
        const Zone zone = arena.reserve("table", 8_MiB);
        EXPECT_EQ(zone.plan({}).mtt_entries(), 4u) << "a page size each is all that can be promised";
        std::ranges::fill(zone.bytes(), std::byte{1});
    });
}

TEST_F(ArenaFaults, AForkedChildsCopiesLeaveTheParentsAlone)
{
    in_child([] {
        const Eal eal{{"--in-memory"}};
        std::optional<Arena> arena = Arena::build("data", {.size = 8_MiB});
        std::optional<Zone> zone = arena->reserve("table", 4_MiB);
        std::ranges::fill(zone->bytes(), std::byte{0x5a});
        in_child([&] {
            EXPECT_EQ(errno_of([&] { static_cast<void>(arena->reserve("mine", 64)); }), ENOTSUP);
            EXPECT_EQ(errno_of([&] { arena->grow(2_MiB); }), ENOTSUP);
            EXPECT_EQ(errno_of([&] { arena->close(); }), ENOTSUP);
            zone.reset();
            arena.reset();
        });
        const Zone other = arena->reserve("other", 2_MiB);
        EXPECT_NE(other.bytes().data(), zone->bytes().data());
        EXPECT_TRUE(std::ranges::all_of(zone->bytes(), [](std::byte b) { return b == std::byte{0x5a}; }));
    });
}

TEST_F(ArenaFaults, OneThatOutlivesTheEalGivesItsPagesBack)
{
    for (const bool in_memory : {true, false})
        in_child([in_memory] {
            const HugetlbfsMount mount;
            const std::uint64_t before = read_pool(2_MiB).free;
            std::optional<Arena> arena;
            std::optional<Zone> zone;
            {
                const Eal eal{in_memory ? std::vector<std::string>{"--in-memory"}
                                        : std::vector<std::string>{"--file-prefix=mrzone-test-cleanup",
                                                                   "--huge-unlink", "--huge-dir=" + mount.path()}};
                arena = Arena::build("data", {.size = 8_MiB});
                zone = arena->reserve("table", 4_MiB);
            }
            zone.reset();
            arena.reset();
            if (!in_memory) { // where the EAL's own memory stays, so does what it still holds
                EXPECT_EQ(read_pool(2_MiB).free, before);
            }
        });
}

TEST_F(ArenaFaults, ManyThreadsMayExplainReserveAndGrowAtOnce)
{
    in_child([] {
        const Eal eal{{"--in-memory"}};
        Arena arena = Arena::build("data", {.size = 4_MiB});
        std::atomic<bool> stop = false;
        std::vector<std::jthread> readers;
        for (int i = 0; i < 2; ++i)
            readers.emplace_back([&, i] {
                for (int round = 0; !stop; ++round) {
                    EXPECT_FALSE(arena.explain({}).empty());
                    const Zone zone = arena.reserve("z" + std::to_string(i) + '-' + std::to_string(round), 64);
                    EXPECT_EQ(zone.plan({}).bytes, 64u);
                }
            });
        for (int window = 0; window < 20; ++window)
            arena.grow(2_MiB);
        stop = true;
        readers.clear();
        EXPECT_EQ(arena.size(), 44_MiB);
    });
}
