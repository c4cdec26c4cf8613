// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Caches over memory that DPDK takes and gives back, by EALs of all kinds.
#include "dpdk_memory.hpp"

#include <mrzone/cache.hpp>
#include <mrzone/hugepage.hpp>
#include <mrzone/reader.hpp>

#include "support/eal.hpp"
#include "support/hugetlbfs_mount.hpp"
#include "support/in_child.hpp"
#include "support/lowered.hpp"
#include "support/mapping.hpp"
#include "support/pool_guard.hpp"
#include "support/require.hpp"
#include "support/step.hpp"

#include <gtest/gtest.h>

#include <rte_malloc.h>
#include <rte_memory.h>
#include <rte_memzone.h>

#include <array>
#include <cerrno>
#include <optional>
#include <thread>
#include <vector>

#include <sys/syscall.h>
#include <unistd.h>

using namespace mrz::literals;

namespace mrz::test {
namespace {

constexpr std::size_t block = 8_MiB;

//! A whole page in the middle of a block, which goes when the block does.
std::span<std::byte> page_in(void* some)
{
    const auto middle = reinterpret_cast<std::uintptr_t>(some) + block / 2;
    return {reinterpret_cast<std::byte*>(middle / 2_MiB * 2_MiB), 2_MiB};
}

std::span<std::byte> bytes_at(void* address, std::size_t length)
{
    return {static_cast<std::byte*>(address), length};
}

bool is_dpdks(const void* address)
{
    const auto begin = reinterpret_cast<std::uintptr_t>(address);
    return cache::is_dpdk_memory({begin, begin + 1});
}

//! Whether the byte is there, as a system call finds it.
bool is_mapped(const void* address)
{
    std::array<int, 2> ends{};
    EXPECT_EQ(pipe(ends.data()), 0);
    const bool is_there = write(ends[1], address, 1) == 1;
    EXPECT_TRUE(is_there || errno == EFAULT);
    close(ends[0]);
    close(ends[1]);
    return is_there;
}

LKey key_of(Cache& cache, std::span<std::byte> memory)
{
    return cache.lease(memory).lkey();
}

class CacheOfDpdkMemory : public testing::Test {
  protected:
    void SetUp() override
    {
        MRZ_REQUIRE(geteuid() == 0, "needs root");
        pool_.emplace(2_MiB, 64);
        free_ = pool_->free();
    }
    void TearDown() override
    {
        if (pool_) {
            EXPECT_EQ(pool_->free(), free_);
        }
    }

    std::optional<PoolGuard> pool_;
    std::uint64_t free_ = 0;
};

//! What DPDK gives back is forgotten, and what comes to its place is another region.
void expect_that_what_is_freed_is_forgotten(Cache& cache)
{
    void* const first = rte_malloc(nullptr, block, 0);
    void* const other = rte_malloc(nullptr, block, 0);
    ASSERT_NE(first, nullptr);
    ASSERT_NE(other, nullptr);
    EXPECT_TRUE(is_dpdks(first));
    const std::span<std::byte> page = page_in(first);
    const LKey key = key_of(cache, page);
    const LKey of_other = key_of(cache, page_in(other));
    EXPECT_EQ(key_of(cache, page), key);
    rte_free(first);
    ASSERT_FALSE(is_mapped(page.data())) << "DPDK kept it";
    EXPECT_EQ(cache.snapshot().invalidations, 1U);
    EXPECT_EQ(key_of(cache, page_in(other)), of_other);
    void* const second = rte_malloc(nullptr, block, 0);
    ASSERT_TRUE(is_mapped(page.data())) << "DPDK took other addresses";
    const Lease anew = cache.lease(page);
    EXPECT_NE(anew.lkey(), key);
    EXPECT_EQ(key_of(cache, page), anew.lkey()) << "it is kept again";
    rte_free(second);
    rte_free(other);
    EXPECT_EQ(cache.snapshot().invalidations, 3U);
}

TEST_F(CacheOfDpdkMemory, ForgetsWhatIsGivenBack)
{
    in_child([] {
        const Eal eal{{"--in-memory"}};
        const Domain domain = Domain::open("soft");
        Cache cache{domain};
        expect_that_what_is_freed_is_forgotten(cache);
    });
}

TEST_F(CacheOfDpdkMemory, DoesSoWhereTheEalIsStartedLater)
{
    in_child([] {
        const Domain domain = Domain::open("soft");
        Cache cache{domain};
        EXPECT_FALSE(is_dpdks(&cache));
        const Eal eal{{"--in-memory"}};
        expect_that_what_is_freed_is_forgotten(cache);
    });
}

TEST_F(CacheOfDpdkMemory, DoesSoInAChildOfForkThatStartsAnEal)
{
    in_child([] {
        const Domain domain = Domain::open("soft");
        const Cache of_parent{domain};
        in_child([] {
            const Eal eal{{"--in-memory"}};
            const Domain own = Domain::open("soft");
            Cache cache{own};
            expect_that_what_is_freed_is_forgotten(cache);
        });
    });
}

TEST_F(CacheOfDpdkMemory, ForgetsWhatAPrimaryProcessGivesBack)
{
    const HugetlbfsMount mount;
    const auto eal_of = [&](const char* type) {
        return std::vector<std::string>{"--file-prefix=mrzone-test-" + std::to_string(getpid()),
                                        "--huge-dir=" + mount.path(), std::string{"--proc-type="} + type};
    };
    const auto primary_eal = eal_of("primary");
    const auto secondary_eal = eal_of("secondary");
    const Step reserved, leased, given_back, looked, reserved_again, left;
    const pid_t primary = start_child([&] {
        const Eal eal{primary_eal};
        const rte_memzone* table = rte_memzone_reserve("table", block, SOCKET_ID_ANY, 0);
        ASSERT_NE(table, nullptr);
        const std::byte* const page = page_in(table->addr).data();
        reserved.done();
        leased.wait();
        EXPECT_EQ(rte_memzone_free(table), 0);
        EXPECT_FALSE(is_mapped(page));
        given_back.done();
        looked.wait();
        table = rte_memzone_reserve("table", block, SOCKET_ID_ANY, 0);
        ASSERT_NE(table, nullptr);
        EXPECT_TRUE(is_mapped(page)) << "DPDK took other addresses";
        reserved_again.done();
        left.wait();
        EXPECT_EQ(rte_memzone_free(table), 0);
    });
    const pid_t secondary = start_child([&] {
        reserved.wait();
        {
            const Eal eal{secondary_eal};
            const Domain domain = Domain::open("soft");
            Cache cache{domain};
            const std::span<std::byte> page = page_in(rte_memzone_lookup("table")->addr);
            EXPECT_TRUE(is_dpdks(page.data()));
            const LKey key = key_of(cache, page);
            leased.done();
            given_back.wait();
            EXPECT_FALSE(is_mapped(page.data()));
            EXPECT_EQ(cache.snapshot().invalidations, 1U);
            looked.done();
            reserved_again.wait();
            EXPECT_NE(key_of(cache, page), key);
        }
        left.done();
    });
    expect_success(secondary);
    expect_success(primary);
}

TEST_F(CacheOfDpdkMemory, IsKeptWhereThereIsNoUserfaultfd)
{
    in_child([] {
        forbid(SYS_userfaultfd, EPERM);
        const Domain domain = Domain::open("soft");
        Cache cache{domain};
        EXPECT_FALSE(cache.snapshot().watched);
        const Mapping other{64_KiB};
        static_cast<void>(cache.lease(other.bytes()));
        EXPECT_EQ(cache.snapshot().unkept, 1U);
        const Eal eal{{"--in-memory"}};
        expect_that_what_is_freed_is_forgotten(cache);
        EXPECT_EQ(cache.snapshot().unkept, 1U);
    });
}

// The kernel tells whoever watches; who does not is told by DPDK, before the pages go.
TEST_F(CacheOfDpdkMemory, IsNotFoundByLookUpWhenItIsGone)
{
    in_child([] {
        const Eal eal{{"--in-memory"}};
        const Domain domain = Domain::open("soft");
        const Cache cache{domain, {.watch = Watch::none}};
        void* const some = rte_malloc(nullptr, block, 0);
        ASSERT_NE(some, nullptr);
        const std::span<std::byte> page = page_in(some).first(64_KiB);
        const Region region = domain.register_memory(page, Access::local_write);
        const Reader reader{domain};
        EXPECT_EQ(reader.lookup(page.data(), 1), region.lkey());
        rte_free(some);
        EXPECT_EQ(reader.lookup(page.data(), 1), std::nullopt);
    });
}

// Nothing is ever freed there, so the regions stay.
void expect_that_regions_stay(const std::vector<std::string>& eal_arguments)
{
    const Eal eal{eal_arguments};
    const Domain domain = Domain::open("soft");
    Cache cache{domain};
    void* const some = rte_malloc(nullptr, 1_MiB, 0); // legacy memory may be in small pieces
    ASSERT_NE(some, nullptr);
    EXPECT_TRUE(is_dpdks(some));
    const LKey key = key_of(cache, bytes_at(some, 64_KiB));
    rte_free(some);
    EXPECT_TRUE(is_mapped(some));
    EXPECT_EQ(cache.snapshot().invalidations, 0U);
    EXPECT_EQ(key_of(cache, bytes_at(some, 64_KiB)), key);
    cache.close();
}

TEST_F(CacheOfDpdkMemory, StaysWhereAnEalOfLegacyMemoryKeepsAll)
{
    const HugetlbfsMount mount;
    in_child([&] {
        expect_that_regions_stay({"--legacy-mem", "-m32", "--huge-unlink", "--huge-dir=" + mount.path()});
    });
}

TEST_F(CacheOfDpdkMemory, StaysWhereAnEalWithoutHugepagesKeepsAll)
{
    in_child([] { expect_that_regions_stay({"--no-huge", "-m64", "--no-shconf"}); });
}

// It was listened to before the EAL said that it frees nothing.
TEST_F(CacheOfDpdkMemory, OfAnEalWithoutHugepagesThatIsStartedLaterStaysToo)
{
    in_child([] {
        const Domain domain = Domain::open("soft");
        std::optional<Cache> cache{domain};
        expect_that_regions_stay({"--no-huge", "-m64", "--no-shconf"});
        cache.reset();
        cache.emplace(domain);
    });
}

TEST_F(CacheOfDpdkMemory, OfAnExternalHeapIsForgottenWhenItIsRemoved)
{
    in_child([] {
        const Eal eal{{"--in-memory"}};
        const Domain domain = Domain::open("soft");
        Cache cache{domain};
        const Mapping memory{4_MiB, MAP_HUGETLB};
        ASSERT_EQ(rte_malloc_heap_create("outside"), 0);
        ASSERT_EQ(rte_malloc_heap_memory_add("outside", memory.bytes().data(), 4_MiB, nullptr, 0, 2_MiB), 0);
        EXPECT_FALSE(is_dpdks(memory.bytes().data()));
        void* const some = rte_malloc_socket(nullptr, 64_KiB, 0, rte_malloc_heap_get_socket("outside"));
        ASSERT_NE(some, nullptr);
        static_cast<void>(cache.lease(bytes_at(some, 64_KiB)));
        rte_free(some);
        EXPECT_EQ(cache.snapshot().invalidations, 0U);
        EXPECT_EQ(rte_malloc_heap_memory_remove("outside", memory.bytes().data(), 4_MiB), 0);
        EXPECT_EQ(cache.snapshot().invalidations, 1U);
        EXPECT_EQ(rte_malloc_heap_destroy("outside"), 0);
        // As memory that is registered with the EAL, but of no heap: of that DPDK says nothing.
        ASSERT_EQ(rte_extmem_register(memory.bytes().data(), 4_MiB, nullptr, 0, 2_MiB), 0);
        EXPECT_FALSE(is_dpdks(memory.bytes().data()));
        EXPECT_EQ(rte_extmem_unregister(memory.bytes().data(), 4_MiB), 0);
    });
}

TEST_F(CacheOfDpdkMemory, CachesComeAndGoWhileDpdkFrees)
{
    in_child([] {
        const Eal eal{{"--in-memory"}};
        const Domain domain = Domain::open("soft");
        std::vector<std::thread> users;
        for (int user = 0; user < 2; ++user)
            users.emplace_back([&] {
                for (int round = 0; round < 40; ++round) {
                    Cache cache{domain};
                    void* const memory = rte_malloc(nullptr, 4_MiB, 0);
                    ASSERT_NE(memory, nullptr);
                    for (std::size_t at = 0; at < 4_MiB; at += 512_KiB)
                        EXPECT_TRUE(cache.lease(bytes_at(memory, 4_MiB).subspan(at, 4_KiB)));
                    rte_free(memory);
                }
            });
        for (std::thread& user : users)
            user.join();
    });
}

TEST_F(CacheOfDpdkMemory, MayOutliveTheEal)
{
    const HugetlbfsMount mount;
    in_child([&] {
        std::optional<Eal> eal;
        eal.emplace(std::vector<std::string>{"--huge-dir=" + mount.path(), "--file-prefix=mrzone-test-outlived"});
        const Domain domain = Domain::open("soft");
        Cache cache{domain};
        const Mapping memory{64_KiB};
        Lease lease = cache.lease(memory.bytes());
        eal.reset();
        lease.release();
        cache.close();
    });
}

} // namespace
} // namespace mrz::test
