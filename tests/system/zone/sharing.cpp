// SPDX-License-Identifier: BSD-3-Clause
#include <mrzone/zone.hpp>

#include "support/eal.hpp"
#include "support/hugetlbfs_mount.hpp"
#include "support/in_child.hpp"
#include "support/pool_guard.hpp"
#include "support/require.hpp"
#include "support/step.hpp"

#include <gtest/gtest.h>

#include <rte_malloc.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>
#include <rte_memzone.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <string>
#include <sys/resource.h>
#include <unistd.h>

using namespace mrz;
using namespace mrz::test;

namespace {

class SharedArenas : public testing::Test {
  protected:
    void SetUp() override
    {
        MRZ_REQUIRE(geteuid() == 0, "needs root");
        pool_.emplace(2_MiB, 256);
        mount_.emplace();
    }
    //! An EAL that the primary and the secondary have in common.
    std::vector<std::string> shared_eal(std::string type) const
    {
        return {"--file-prefix=mrzone-test-" + std::to_string(getpid()), "--huge-dir=" + mount_->path(),
                "--proc-type=" + std::move(type)};
    }

    std::optional<PoolGuard> pool_;
    std::optional<HugetlbfsMount> mount_;
};

int errno_of(const std::function<void()>& call)
{
    try {
        call();
    } catch (const Error& error) {
        return error.error_number();
    }
    return 0;
}

} // namespace

TEST_F(SharedArenas, ASecondaryUsesTheArenaOfItsPrimary)
{
    const auto primary_eal = shared_eal("primary");
    const auto secondary_eal = shared_eal("secondary");
    const Step built, attached, grown, refreshed, left;
    const pid_t primary = start_child([&] {
        const Eal eal{primary_eal};
        Arena arena = Arena::build("data", {.size = 32_MiB});
        rte_mempool* pool = rte_pktmbuf_pool_create("rx", 1023, 0, 0, 1024, arena.socket_id());
        ASSERT_NE(pool, nullptr);
        const Zone zone = arena.reserve("table", 4_MiB);
        zone.bytes()[0] = std::byte{0x11};
        built.done();
        attached.wait();
        EXPECT_EQ(zone.bytes()[1], std::byte{0x22});
        arena.grow(16_MiB);
        const Zone second = arena.reserve("second", 16_MiB);
        second.bytes()[0] = std::byte{0x33};
        grown.done();
        refreshed.wait();
        rte_mempool_free(pool);
        left.wait();
    });
    const pid_t secondary = start_child([&] {
        built.wait();
        const Eal eal{secondary_eal};
        EXPECT_EQ(errno_of([] { Arena::build("mine", {.size = 2_MiB}); }), ENOTSUP);
        EXPECT_EQ(errno_of([] { Arena::attach("nobody"); }), ENOENT);
        Arena arena = Arena::attach("data");
        EXPECT_EQ(arena.size(), 32_MiB);
        const rte_memzone* table = rte_memzone_lookup("table");
        ASSERT_NE(table, nullptr);
        auto* bytes = static_cast<std::byte*>(table->addr);
        EXPECT_EQ(bytes[0], std::byte{0x11});
        bytes[1] = std::byte{0x22};
        rte_mempool* pool = rte_mempool_lookup("rx");
        ASSERT_NE(pool, nullptr);
        rte_mbuf* packet = rte_pktmbuf_alloc(pool);
        ASSERT_NE(packet, nullptr);
        std::memset(packet->buf_addr, 1, packet->buf_len);
        rte_pktmbuf_free(packet);
        EXPECT_EQ(errno_of([&] { arena.grow(2_MiB); }), ENOTSUP);
        EXPECT_EQ(Arena::living(), (std::vector<Living>{{arena.number(), "data"}}));
        EXPECT_EQ(Arena::snapshot_of(arena.number())->bytes, 32_MiB);
        attached.done();
        grown.wait();
        arena.refresh();
        EXPECT_EQ(arena.size(), 48_MiB);
        EXPECT_EQ(arena.snapshot().windows, 2U);
        EXPECT_EQ(static_cast<std::byte*>(rte_memzone_lookup("second")->addr)[0], std::byte{0x33});
        arena.close();
        refreshed.done();
        left.done();
    });
    expect_success(secondary);
    expect_success(primary);
}

TEST_F(SharedArenas, ThePrimaryKeepsWhatASecondaryHasMappedUntilItIsGoneEvenIfKilled)
{
    const auto primary_eal = shared_eal("primary");
    const auto secondary_eal = shared_eal("secondary");
    const Step built, attached, refused, killed;
    const pid_t primary = start_child([&] {
        const Eal eal{primary_eal};
        Arena arena = Arena::build("data", {.size = 8_MiB});
        built.done();
        attached.wait();
        EXPECT_EQ(errno_of([&] { arena.close(); }), EBUSY);
        EXPECT_EQ(arena.size(), 8_MiB);
        refused.done();
        killed.wait();
        arena.close();
        EXPECT_EQ(arena.size(), 0u);
    });
    const pid_t secondary = start_child([&] {
        built.wait();
        const Eal eal{secondary_eal};
        const Arena arena = Arena::attach("data");
        attached.done();
        pause();
    });
    refused.wait();
    kill(secondary, SIGKILL);
    EXPECT_TRUE(WIFSIGNALED(wait_for(secondary)));
    killed.done();
    expect_success(primary);
}

TEST_F(SharedArenas, ASecondarysZonesKeepItAttachedAndFollowTheArenasGrowth)
{
    const auto primary_eal = shared_eal("primary");
    const auto secondary_eal = shared_eal("secondary");
    const Step built, attached, grown, left;
    const pid_t primary = start_child([&] {
        const Eal eal{primary_eal};
        Arena arena = Arena::build("data", {.size = 8_MiB});
        built.done();
        attached.wait();
        arena.grow(16_MiB);
        grown.done();
        left.wait();
        arena.close();
    });
    const pid_t secondary = start_child([&] {
        built.wait();
        const Eal eal{secondary_eal};
        Arena arena = Arena::attach("data");
        attached.done();
        grown.wait();
        {
            const Zone zone = arena.reserve("mine", 12_MiB); // fits only what the primary has added
            std::ranges::fill(zone.bytes(), std::byte{7});
            EXPECT_EQ(errno_of([&] { arena.close(); }), EBUSY);
            EXPECT_EQ(zone.bytes()[0], std::byte{7});
        }
        arena.close();
        left.done();
    });
    expect_success(secondary);
    expect_success(primary);
}

TEST_F(SharedArenas, WithoutRoomForDescriptorsTheLimitIsNamed)
{
    const auto primary_eal = shared_eal("primary");
    const auto secondary_eal = shared_eal("secondary");
    const Step built, left;
    const pid_t primary = start_child([&] {
        const Eal eal{primary_eal};
        Arena arena = Arena::build("data", {.size = 8_MiB});
        built.done();
        left.wait();
        arena.close();
    });
    const pid_t secondary = start_child([&] {
        built.wait();
        const Eal eal{secondary_eal};
        const int next = dup(0);
        close(next);
        const rlimit tight{.rlim_cur = static_cast<rlim_t>(next) + 3, .rlim_max = static_cast<rlim_t>(next) + 3};
        ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &tight), 0);
        EXPECT_EQ(errno_of([] { Arena::attach("data"); }), EMFILE);
        left.done();
    });
    expect_success(secondary);
    expect_success(primary);
}

TEST_F(SharedArenas, WhereTheEalHasNoSecondariesThatIsSaid)
{
    in_child([] {
        const Eal eal{{"--in-memory"}};
        const Arena arena = Arena::build("data", {.size = 2_MiB});
        EXPECT_EQ(errno_of([] { Arena::attach("data"); }), ENOTSUP);
    });
}

TEST_F(SharedArenas, ASecondaryHasKeysOfItsOwnToTheArenaOfItsPrimary)
{
    const auto primary_eal = shared_eal("primary");
    const auto secondary_eal = shared_eal("secondary");
    const Step built, left;
    const pid_t primary = start_child([&] {
        const Eal eal{primary_eal};
        const Arena arena = Arena::build("data", {.size = 8_MiB});
        built.done();
        left.wait();
    });
    const pid_t secondary = start_child([&] {
        built.wait();
        {
            const Eal eal{secondary_eal};
            const Domain domain = Domain::open("soft");
            Arena arena = Arena::attach("data", {domain});
            const std::span<std::byte> block = arena.windows()[0].block();
            EXPECT_EQ(arena.region(domain, block.data(), block.size()).bytes().data(), block.data());
            {
                const Zone zone = arena.reserve("table", 4096, Access::remote_read);
                EXPECT_EQ(zone.region(domain).bytes().size(), 4096U);
                EXPECT_EQ(zone.region(domain).domain(), domain);
            }
            arena.close();
        }
        left.done();
    });
    expect_success(secondary);
    expect_success(primary);
}
