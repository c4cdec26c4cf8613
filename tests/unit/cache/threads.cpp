// SPDX-License-Identifier: BSD-3-Clause
#include "fixture.hpp"

#include <array>
#include <atomic>
#include <mutex>
#include <random>

namespace mrz::test {
namespace {

using CacheThreads = CacheTest;

#if defined(__SANITIZE_THREAD__)
constexpr std::uint64_t scale = 20; // each registering reads the process's mappings, of which there are many then
#else
constexpr std::uint64_t scale = 1;
#endif

//! Which keys work, by half their number: the made-up device counts them.
class Alive {
  public:
    Alive()
    {
        script().on_deregister = [this](LKey key) { gone_[key.value / 2].store(true); };
    }
    ~Alive() { script().on_deregister = {}; }
    [[nodiscard]] bool works(LKey key) const { return !gone_[key.value / 2].load(); }

  private:
    std::vector<std::atomic<bool>> gone_ = std::vector<std::atomic<bool>>(1 << 20);
};

TEST_F(CacheThreads, MissTheSameRangeAndRegisterItOnce)
{
    std::atomic<int> ready = 0;
    Cache cache{*domain};
    script().on_register = [&](const RegisterRequest&) {
        while (ready < 3)
            std::this_thread::yield();
    };
    std::array<Lease, 3> leases;
    {
        std::vector<std::jthread> threads;
        for (Lease& lease : leases)
            threads.emplace_back([&] {
                ++ready;
                lease = cache.lease(at(0, 4).subspan(10, 100));
            });
    }
    EXPECT_EQ(script().keys, 1);
    EXPECT_EQ(leases[0].lkey(), leases[1].lkey());
    EXPECT_EQ(leases[0].lkey(), leases[2].lkey());
    EXPECT_EQ(cache.snapshot().hits + cache.snapshot().misses, 3u);
}

TEST_F(CacheThreads, WhoWaitedForOneThatFailsMakesItsOwn)
{
    std::atomic<int> asked = 0;
    Cache cache{*domain};
    script().on_register = [&](const RegisterRequest&) {
        if (asked.fetch_add(1) > 0)
            return;
        wait_until([&] { return cache.snapshot().misses == 2; });
        throw Error{EFAULT, {.trouble = Trouble::permission, .what = "x", .limit = "the first", .remedy = {}}};
    };
    std::atomic<int> refused = 0;
    std::atomic<int> served = 0;
    {
        std::vector<std::jthread> threads;
        for (int i = 0; i < 2; ++i)
            threads.emplace_back([&] {
                try {
                    static_cast<void>(cache.lease(at(0)));
                    ++served;
                } catch (const Error&) {
                    ++refused;
                }
            });
    }
    EXPECT_EQ(refused, 1);
    EXPECT_EQ(served, 1);
}

TEST_F(CacheThreads, DifferentRangesAreRegisteredAtOnce)
{
    std::atomic<int> inside = 0;
    Cache cache{*domain};
    script().on_register = [&](const RegisterRequest&) {
        ++inside;
        while (inside < 2)
            std::this_thread::yield();
    };
    std::jthread other{[&] { static_cast<void>(cache.lease(at(0))); }};
    static_cast<void>(cache.lease(at(10)));
}

// While a thread holds a lease, its key works, whatever the others lease, release, evict and invalidate.
TEST_F(CacheThreads, NeverHoldAKeyThatDoesNotWork)
{
    const Alive alive;
    Cache cache{*domain, {.keys = 12}};
    std::atomic<bool> stop = false;
    std::atomic<std::uint64_t> leases = 0;
    std::mutex handing;
    std::vector<Lease> handed; // to be released by others
    const auto user = [&](std::uint64_t seed) {
        std::mt19937_64 random{seed};
        std::vector<Lease> mine;
        while (!stop) {
            try {
                const std::size_t first = random() % 24;
                mine.push_back(cache.lease(at(first, 1 + random() % 2)));
                leases.fetch_add(1);
                ASSERT_TRUE(covers(mine.back()));
            } catch (const Error& error) {
                ASSERT_EQ(error.error_number(), ENOBUFS) << error.what();
                mine.clear();
            }
            for (const Lease& lease : mine)
                ASSERT_TRUE(alive.works(lease.lkey()));
            if (mine.size() > 2) {
                const std::scoped_lock guard{handing};
                handed.push_back(std::move(mine.back()));
                mine.clear();
                if (handed.size() > 2)
                    handed.erase(handed.begin());
            }
        }
    };
    {
        std::vector<std::jthread> threads;
        for (std::uint64_t seed = 1; seed <= 3; ++seed)
            threads.emplace_back(user, seed);
        std::mt19937_64 random{9};
        while (cache.snapshot().evictions < 400 / scale || cache.snapshot().invalidations < 400 / scale ||
               leases < 10'000 / scale) {
            if (script().keys > 500'000)
                break;
            cache.set_pending(true);
            cache.invalidate(at(random() % 24));
            cache.set_pending(false);
            std::this_thread::yield();
        }
        stop = true;
    }
    EXPECT_GE(leases, 10'000 / scale);
    handed.clear();
    EXPECT_EQ(cache.snapshot().leases, 0u);
    cache.close();
    EXPECT_EQ(script().registered, 0);
}

// A lease that starts after the call has returned is for the memory as it is now.
TEST_F(CacheThreads, NeverGetAKeyThatWasInvalidatedBefore)
{
    Cache cache{*domain};
    constexpr std::size_t places = 4;
    std::array<std::atomic<std::uint32_t>, places> newest_ended{}; // the highest key that existed before the call
    std::atomic<bool> stop = false;
    {
        std::vector<std::jthread> threads;
        for (std::uint64_t seed = 1; seed <= 2; ++seed)
            threads.emplace_back([&, seed] {
                std::mt19937_64 random{seed};
                while (!stop) {
                    const std::size_t place = random() % places;
                    const std::uint32_t bound = newest_ended[place].load();
                    const Lease lease = cache.lease(at(3 * place));
                    ASSERT_GT(lease.lkey().value / 2, bound);
                }
            });
        std::mt19937_64 random{7};
        for (std::uint64_t i = 0; i < 3000 / scale; ++i) {
            const std::size_t place = random() % places;
            const auto until = static_cast<std::uint32_t>(static_cast<int>(script().keys));
            cache.invalidate(at(3 * place));
            newest_ended[place].store(until);
            if (i % 8 == 0)
                std::this_thread::yield();
        }
        stop = true;
    }
}

TEST_F(CacheThreads, ThatComeAndGoLeaveTheirRecordsToTheNext)
{
    Cache cache{*domain};
    std::vector<Lease> kept;
    for (int i = 0; i < 200; ++i)
        std::jthread{[&] { kept.push_back(cache.lease(at(static_cast<std::size_t>(i) % 8))); }};
    EXPECT_EQ(cache.snapshot().leases, 200u);
    EXPECT_EQ(cache.snapshot().hits + cache.snapshot().misses, 200u);
    kept.clear();
    EXPECT_EQ(cache.snapshot().leases, 0u);
}

TEST_F(CacheThreads, ReleaseTheLastLeasesOfACacheThatIsGone)
{
    for (int round = 0; round < 30; ++round) {
        std::array<Lease, 4> leases;
        {
            Cache cache{*domain};
            for (std::size_t i = 0; i < leases.size(); ++i)
                leases[i] = cache.lease(at(i / 2));
        }
        std::vector<std::jthread> threads;
        for (Lease& lease : leases)
            threads.emplace_back([&lease] { lease.release(); });
        threads.clear();
        ASSERT_EQ(script().registered, 0);
    }
}

} // namespace
} // namespace mrz::test
