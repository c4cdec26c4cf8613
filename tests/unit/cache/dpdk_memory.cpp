// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! What DPDK tells a cache, with a DPDK that the tests make up: a program of its own, whose calls stand before
//! DPDK's.
#include "dpdk_memory.hpp"

#include "fixture.hpp"

#include "support/in_child.hpp"
#include "support/require.hpp"
#include "support/userfault.hpp"

#include <rte_config.h>
#include <rte_eal_memconfig.h>
#include <rte_errno.h>
#include <rte_memory.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <functional>
#include <mutex>
#include <shared_mutex>
#include <string>

namespace mrz::test {
namespace {

//! Locks as DPDK does: for reading while it tells, for writing while it is told who listens.
struct MadeUpDpdk {
    std::shared_mutex mutex;
    rte_mem_event_callback_t callback = nullptr;
    void* argument = nullptr;
    int refusal = 0;
    std::array<rte_memseg_list, 2> lists = {};

    void tell(rte_mem_event event, std::span<const std::byte> memory)
    {
        const std::shared_lock lock{mutex};
        if (callback != nullptr)
            callback(event, memory.data(), memory.size(), argument);
    }
};
MadeUpDpdk dpdk;

int refuse(int error)
{
    rte_errno = error;
    return -1;
}

} // namespace
} // namespace mrz::test

extern "C" {

int rte_mem_event_callback_register(const char*, rte_mem_event_callback_t callback, void* argument)
{
    using namespace mrz::test;
    const std::unique_lock lock{dpdk.mutex};
    if (dpdk.refusal != 0)
        return refuse(dpdk.refusal);
    if (dpdk.callback != nullptr)
        return refuse(EEXIST);
    dpdk.callback = callback;
    dpdk.argument = argument;
    return 0;
}

int rte_mem_event_callback_unregister(const char*, void* argument)
{
    using namespace mrz::test;
    const std::unique_lock lock{dpdk.mutex};
    if (dpdk.refusal != 0)
        return refuse(dpdk.refusal);
    if (dpdk.callback == nullptr || argument != dpdk.argument)
        return refuse(ENOENT);
    dpdk.callback = nullptr;
    return 0;
}

rte_memseg_list* rte_mem_virt2memseg_list(const void* address)
{
    using namespace mrz::test;
    const auto list = std::ranges::find_if(dpdk.lists, [&](const rte_memseg_list& one) {
        const auto* const begin = static_cast<const std::byte*>(one.base_va);
        return address >= begin && address < begin + one.len;
    });
    return list != dpdk.lists.end() ? &*list : nullptr;
}
}

namespace mrz::test {
namespace {

class DpdkMemory : public CacheTest {
  protected:
    void SetUp() override
    {
        CacheTest::SetUp();
        dpdk.lists = {};
        set_list(0, at(0, 128));
        dpdk.lists[0].heap = 1;
    }
    void TearDown() override
    {
        dpdk.refusal = 0;
        free(at(0));
        dpdk.tell(RTE_MEM_EVENT_ALLOC, at(0));
        CacheTest::TearDown();
    }
    static void set_list(std::size_t index, std::span<std::byte> bytes)
    {
        dpdk.lists[index].base_va = bytes.data();
        dpdk.lists[index].len = bytes.size();
    }
    static void free(std::span<const std::byte> bytes) { dpdk.tell(RTE_MEM_EVENT_FREE, bytes); }
    static bool is_listening()
    {
        const std::shared_lock lock{dpdk.mutex};
        return dpdk.callback != nullptr;
    }
    static bool is_dpdks(std::span<std::byte> bytes)
    {
        const auto begin = reinterpret_cast<std::uintptr_t>(bytes.data());
        return cache::is_dpdk_memory({begin, begin + bytes.size()});
    }
};

TEST_F(DpdkMemory, IsListenedToWhileThereAreCaches)
{
    EXPECT_FALSE(is_listening());
    std::optional<Cache> first{*domain};
    EXPECT_TRUE(is_listening());
    std::optional<Cache> second{*domain};
    first.reset();
    EXPECT_TRUE(is_listening());
    second->close();
    EXPECT_FALSE(is_listening());
    second.reset();
    second.emplace(*domain);
    EXPECT_TRUE(is_listening());
    second.reset();
    EXPECT_FALSE(is_listening());
}

TEST_F(DpdkMemory, IsNotListenedToForLeasesOfACacheThatIsGone)
{
    std::optional<Cache> cache{*domain};
    Lease lease = cache->lease(at(0));
    cache.reset();
    EXPECT_FALSE(is_listening());
    free(at(0));
    EXPECT_EQ(script().registered, 1);
}

TEST_F(DpdkMemory, ThatIsFreedIsForgottenByAllCaches)
{
    Cache first{*domain, alone()};
    Cache second{*domain, alone()};
    const LKey before = first.lease(at(4)).lkey();
    const LKey beside = first.lease(at(6)).lkey();
    const LKey others = second.lease(at(5)).lkey();
    free(at(4, 2));
    dpdk.tell(RTE_MEM_EVENT_ALLOC, at(4, 2));
    EXPECT_EQ(first.snapshot().invalidations, 1U);
    EXPECT_EQ(second.snapshot().invalidations, 1U);
    EXPECT_NE(first.lease(at(4)).lkey(), before);
    EXPECT_EQ(first.lease(at(6)).lkey(), beside);
    EXPECT_NE(second.lease(at(5)).lkey(), others);
}

TEST_F(DpdkMemory, ThatIsAllocatedIsNotForgotten)
{
    Cache cache{*domain};
    const LKey key = cache.lease(at(4)).lkey();
    dpdk.tell(RTE_MEM_EVENT_ALLOC, at(4, 2));
    EXPECT_EQ(cache.lease(at(4)).lkey(), key);
}

TEST_F(DpdkMemory, ThatIsGoingIsNotKept)
{
    Cache cache{*domain, alone()};
    free(at(4, 2));
    const LKey going = cache.lease(at(5)).lkey();
    settle(cache);
    EXPECT_EQ(script().registered, 0);
    EXPECT_EQ(cache.lease(at(6)).lkey(), cache.lease(at(6)).lkey()) << "beside it";
    free(at(8)); // so the other is gone
    EXPECT_NE(cache.lease(at(5)).lkey(), going);
    EXPECT_EQ(cache.lease(at(5)).lkey(), cache.lease(at(5)).lkey());
}

TEST_F(DpdkMemory, ThatWasDiscardedByOthersIsNotKeptEither)
{
    MRZ_REQUIRE(may_watch(), "userfaultfd(2) is not allowed");
    Cache cache{*domain, alone({.watch = Watch::userfaultfd})};
    static_cast<void>(cache.lease(at(3)));
    ASSERT_EQ(madvise(at(3).data(), page, MADV_DONTNEED), 0);
    const LKey soon = cache.lease(at(3)).lkey(); // perhaps of the page that goes
    EXPECT_NE(cache.lease(at(3)).lkey(), soon);
    EXPECT_EQ(cache.snapshot().unkept, 2U);
}

// Between deciding to merge and registering the neighbour may be freed; then its pages are pinned, and go.
TEST_F(DpdkMemory, ThatIsFreedWhileItIsBeingRegisteredIsNotKept)
{
    Cache cache{*domain, alone()};
    script().on_register = [&](const RegisterRequest&) { free(at(4)); };
    const Lease lease = cache.lease(at(4));
    script().on_register = {};
    EXPECT_TRUE(lease);
    EXPECT_EQ(cache.snapshot().regions, 0U);
    dpdk.tell(RTE_MEM_EVENT_ALLOC, at(4));
    EXPECT_NE(cache.lease(at(4)).lkey(), lease.lkey());
}

TEST_F(DpdkMemory, OfABatchOnlyWhatIsNotGoingIsKept)
{
    Cache cache{*domain};
    free(at(5));
    const std::vector<LeaseRequest> requests{{at(4)}, {at(5)}, {at(8)}};
    EXPECT_TRUE(std::ranges::all_of(cache.lease_all(requests), covers));
    settle(cache);
    EXPECT_EQ(cache.snapshot().regions, 1U);
    EXPECT_EQ(cache.lease(at(8)).region_bytes().size(), page);
    EXPECT_EQ(cache.snapshot().hits, 1U);
}

TEST_F(DpdkMemory, OfAnExternalHeapIsForgottenAndMayBeKeptAgain)
{
    dpdk.lists[0].external = 1;
    Cache cache{*domain};
    const LKey before = cache.lease(at(4)).lkey();
    free(at(0, 128));
    EXPECT_EQ(cache.snapshot().invalidations, 1U);
    const LKey after = cache.lease(at(4)).lkey();
    EXPECT_NE(after, before);
    EXPECT_EQ(cache.lease(at(4)).lkey(), after);
}

TEST_F(DpdkMemory, IsOneListOfAHeapOfItsOwn)
{
    set_list(1, at(128, 64));
    EXPECT_TRUE(is_dpdks(at(0, 128)));
    EXPECT_TRUE(is_dpdks(at(127)));
    EXPECT_FALSE(is_dpdks(at(127, 2))) << "over two lists";
    EXPECT_FALSE(is_dpdks(at(130))) << "not of a heap";
    EXPECT_FALSE(is_dpdks(at(200)));
    dpdk.lists[0].external = 1;
    EXPECT_FALSE(is_dpdks(at(0)));
}

TEST_F(DpdkMemory, IsNotToldOfByAnEalThatFreesNothing)
{
    dpdk.refusal = ENOTSUP;
    {
        Cache cache{*domain};
        const LKey key = cache.lease(at(4)).lkey();
        EXPECT_EQ(cache.lease(at(4)).lkey(), key);
    }
    EXPECT_FALSE(is_listening());
}

// As where caches were there before an EAL that frees nothing: it cannot be told any more that nobody listens.
TEST_F(DpdkMemory, MayBeToldOfWhenNobodyListensAnyMore)
{
    std::optional<Cache> cache{*domain};
    dpdk.refusal = ENOTSUP;
    cache.reset();
    EXPECT_TRUE(is_listening());
    free(at(4));
    cache.emplace(*domain);
    static_cast<void>(cache->lease(at(8)));
    free(at(8));
    EXPECT_EQ(cache->snapshot().invalidations, 1U);
    dpdk.refusal = 0;
    cache.reset();
    EXPECT_FALSE(is_listening());
}

TEST_F(DpdkMemory, WhereItCannotBeListenedToForWantOfMemoryThereIsNoCache)
{
    dpdk.refusal = ENOMEM;
    EXPECT_THROW(Cache{*domain}, std::bad_alloc);
    dpdk.refusal = 0;
    const Cache cache{*domain};
    EXPECT_TRUE(is_listening());
}

#if !defined(__SANITIZE_THREAD__) // which allows no new threads in such a child
TEST_F(DpdkMemory, AChildOfForkListensForItsOwnCaches)
{
    Cache cache{*domain};
    static_cast<void>(cache.lease(at(4)));
    in_child([&] {
        alarm(30); // SIGALRM ends what hangs
        script().on_deregister = [](LKey) { ADD_FAILURE() << "the parent's region went"; };
        free(at(4));
        script().on_deregister = {};
        const Domain own = Domain::open("soft");
        Cache mine{own};
        static_cast<void>(mine.lease(at(8)));
        free(at(8));
        EXPECT_EQ(mine.snapshot().invalidations, 1U);
    });
    EXPECT_EQ(cache.snapshot().invalidations, 0U);
}
#endif

TEST_F(DpdkMemory, CachesComeAndGoWhileItIsFreed)
{
    std::atomic<bool> done = false;
    std::thread freeing{[&] {
        for (std::size_t i = 0; !done; i = (i + 1) % 16) {
            free(at(i));
            dpdk.tell(RTE_MEM_EVENT_ALLOC, at(i));
            std::this_thread::yield(); // a shared mutex lets readers pass writers for ever
        }
    }};
    std::vector<std::thread> users;
    for (int user = 0; user < 2; ++user)
        users.emplace_back([&] {
            for (int round = 0; round < 20; ++round) {
                Cache cache{*domain};
                for (std::size_t i = 0; i < 16; ++i)
                    EXPECT_TRUE(covers(cache.lease(at(i))));
            }
        });
    for (std::thread& user : users)
        user.join();
    done = true;
    freeing.join();
    EXPECT_FALSE(is_listening());
}

} // namespace
} // namespace mrz::test
