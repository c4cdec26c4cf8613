// SPDX-License-Identifier: BSD-3-Clause
#include "fixture.hpp"

#include <atomic>
#include <chrono>

namespace mrz::test {
namespace {

using Budgets = CacheTest;
using testing::HasSubstr;

TEST_F(Budgets, OfKeysLetTheLeastRecentlyUsedGo)
{
    std::vector<LKey> gone;
    script().on_deregister = [&](LKey key) { gone.push_back(key); };
    Cache cache{*domain, alone({.keys = 4})};
    std::vector<LKey> keys;
    for (std::size_t i = 0; i < 4; ++i)
        keys.push_back(cache.lease(at(i)).lkey());
    static_cast<void>(cache.lease(at(0))); // used once more, so that 1 is the oldest
    static_cast<void>(cache.lease(at(4)));
    settle(cache);
    EXPECT_THAT(gone, testing::ElementsAre(keys[1]));
    static_cast<void>(cache.lease(at(2)));
    static_cast<void>(cache.lease(at(0)));
    static_cast<void>(cache.lease(at(5)));
    settle(cache);
    EXPECT_THAT(gone, testing::ElementsAre(keys[1], keys[3]));
    EXPECT_EQ(script().registered, 4);
    EXPECT_EQ(cache.snapshot().evictions, 2u);
    cache.close();
    script().on_deregister = {};
}

TEST_F(Budgets, OfBytesCountWholePages)
{
    Cache cache{*domain, alone({.bytes = 8 * page})};
    static_cast<void>(cache.lease(at(0, 4)));
    static_cast<void>(cache.lease(at(10).first(1)));
    EXPECT_EQ(cache.snapshot().bytes, 5 * page);
    static_cast<void>(cache.lease(at(20).subspan(page - 1, 1), Access::remote_read)); // exact, but a page is pinned
    EXPECT_EQ(cache.snapshot().bytes, 6 * page);
    EXPECT_EQ(cache.snapshot().evictions, 0u);
    static_cast<void>(cache.lease(at(30, 3)));
    EXPECT_EQ(cache.snapshot().evictions, 1u);
    settle(cache);
    EXPECT_EQ(cache.snapshot().bytes, 5 * page);
}

TEST_F(Budgets, OfEntriesHoldAfterPlanning)
{
    Cache cache{*domain, alone({.entries = 3})};
    for (std::size_t i = 0; i < 8; ++i) {
        static_cast<void>(cache.lease(at(2 * i)));
        EXPECT_LE(cache.snapshot().entries, 3u);
    }
    EXPECT_EQ(cache.snapshot().evictions, 5u);
}

TEST_F(Budgets, NeverTakeWhatIsLeased)
{
    Cache cache{*domain, alone({.keys = 3})};
    const Lease first = cache.lease(at(0));
    const Lease second = cache.lease(at(1));
    for (std::size_t i = 2; i < 20; ++i)
        EXPECT_TRUE(covers(cache.lease(at(i))));
    EXPECT_EQ(cache.lease(at(0)).lkey(), first.lkey());
    EXPECT_EQ(cache.lease(at(1)).lkey(), second.lkey());
    const Lease third = cache.lease(at(2));
    const Error full = refusal([&] { static_cast<void>(cache.lease(at(3))); });
    EXPECT_EQ(full.error_number(), ENOBUFS);
    EXPECT_EQ(full.cause().trouble, Trouble::busy);
    EXPECT_EQ(full.cause().present, 3u);
    EXPECT_EQ(full.cause().need, 4u);
    EXPECT_EQ(script().registered, 3);
}

TEST_F(Budgets, WithTooLittleIdleGiveNothingUp)
{
    Cache cache{*domain, alone({.bytes = 8 * page})};
    const Lease held = cache.lease(at(0, 4));
    static_cast<void>(cache.lease(at(10, 2)));
    EXPECT_EQ(refusal([&] { static_cast<void>(cache.lease(at(20, 5))); }).error_number(), ENOBUFS);
    EXPECT_EQ(cache.snapshot().evictions, 0u);
}

TEST_F(Budgets, RefuseWhatNeverFits)
{
    Cache cache{*domain, alone({.bytes = 8 * page})};
    const Error large = refusal([&] { static_cast<void>(cache.lease(at(0, 9))); });
    EXPECT_EQ(large.error_number(), E2BIG);
    EXPECT_EQ(large.cause().trouble, Trouble::invalid);
    EXPECT_THAT(large.cause().limit, HasSubstr("bytes"));
    EXPECT_EQ(large.cause().present, 8 * page);
    EXPECT_EQ(large.cause().need, 9 * page);
}

TEST_F(Budgets, AreKeptUntilDeregistrationHappened)
{
    std::atomic<bool> go = false;
    std::atomic<int> most = 0;
    script().on_deregister = [&](LKey) {
        while (!go)
            std::this_thread::yield();
    };
    script().on_register = [&](const RegisterRequest&) { most = std::max<int>(most, script().registered + 1); };
    Cache cache{*domain, alone({.keys = 2})};
    static_cast<void>(cache.lease(at(0)));
    static_cast<void>(cache.lease(at(1)));
    std::thread other{[&] { EXPECT_TRUE(cache.lease(at(2))); }};
    wait_until([&] { return cache.snapshot().waits > 0; });
    EXPECT_EQ(cache.snapshot().keys, 2u);
    EXPECT_EQ(script().keys, 2);
    EXPECT_TRUE(cache.lease(at(1))); // nobody else waits
    go = true;
    other.join();
    EXPECT_EQ(most, 2);
    EXPECT_EQ(cache.snapshot().waits, 1u);
}

TEST_F(Budgets, AreMadeRoomInAheadWhereThereIsMuch)
{
    Cache cache{*domain, alone({.keys = 64})};
    for (std::size_t i = 0; i < 65; ++i)
        static_cast<void>(cache.lease(at(i)));
    EXPECT_EQ(cache.snapshot().evictions, 5u); // the one, and a sixteenth
    EXPECT_EQ(cache.snapshot().waits, 1u);
    settle(cache);
    for (std::size_t i = 65; i < 69; ++i)
        static_cast<void>(cache.lease(at(i)));
    EXPECT_EQ(cache.snapshot().waits, 1u);
}

TEST_F(Budgets, ALimitOfTheSystemLetsIdleRegionsGoAndIsTriedOnce)
{
    const auto limited = [](const RegisterRequest&) {
        if (script().registered >= 3)
            throw Error{ENOMEM, {.trouble = Trouble::locked_memory, .what = "x", .limit = "RLIMIT", .remedy = {}}};
    };
    script().on_register = limited;
    Cache cache{*domain, alone()};
    for (std::size_t i = 0; i < 3; ++i)
        static_cast<void>(cache.lease(at(i)));
    const Lease fourth = cache.lease(at(3)); // all three idle ones went for it
    EXPECT_EQ(cache.snapshot().evictions, 3u);
    EXPECT_EQ(cache.snapshot().waits, 1u);
    const Lease fifth = cache.lease(at(4));
    const Lease sixth = cache.lease(at(5));
    int asked = 0;
    script().on_register = [&](const RegisterRequest& request) {
        ++asked;
        limited(request);
    };
    const Error cause = refusal([&] { static_cast<void>(cache.lease(at(6))); }); // nothing is idle
    EXPECT_EQ(cause.cause().trouble, Trouble::locked_memory);
    EXPECT_EQ(asked, 1);
    EXPECT_EQ(cache.snapshot().keys, 3u);
}

TEST_F(Budgets, AfterALimitNobodyWaitsForWhatLeavesLater)
{
    using Clock = std::chrono::steady_clock;
    Cache cache{*domain, alone()};
    static_cast<void>(cache.lease(at(0)));
    script().on_register = [first = true](const RegisterRequest&) mutable {
        if (std::exchange(first, false))
            throw Error{ENOMEM, {.trouble = Trouble::locked_memory, .what = "x", .limit = "y", .remedy = {}}};
    };
    std::atomic<bool> served = false;
    std::atomic<int> left = 0;
    bool in_time = true;
    script().on_deregister = [&](LKey) { // another follows, and is on its way out when the caller looks
        if (++left == 1) {
            static_cast<void>(cache.lease(at(9)));
            cache.invalidate(at(9));
        } else if (left == 2) {
            const auto bound = Clock::now() + std::chrono::seconds{20}; // that ends a failure
            wait_until([&] { return served || !(in_time = Clock::now() < bound); });
        }
    };
    EXPECT_TRUE(cache.lease(at(1)));
    served = true;
    wait_until([&] { return left >= 2; });
    settle(cache);
    EXPECT_TRUE(in_time);
    cache.close();
    script().on_deregister = {};
}

TEST_F(Budgets, ALimitThatStaysIsTheErrorAfterOneMoreTry)
{
    Cache cache{*domain, alone()};
    static_cast<void>(cache.lease(at(0)));
    int asked = 0;
    script().on_register = [&](const RegisterRequest&) {
        ++asked;
        throw Error{ENOMEM, {.trouble = Trouble::cgroup, .what = "x", .limit = "memory.max", .remedy = {}}};
    };
    EXPECT_EQ(refusal([&] { static_cast<void>(cache.lease(at(1))); }).cause().limit, "memory.max");
    EXPECT_EQ(asked, 2);
    EXPECT_EQ(cache.snapshot().keys, 0u);
}

TEST_F(Budgets, WhatNoRoomCanMendGivesNothingUp)
{
    Cache cache{*domain, alone()};
    static_cast<void>(cache.lease(at(0)));
    int asked = 0;
    script().on_register = [&](const RegisterRequest&) {
        ++asked;
        throw Error{EOPNOTSUPP, {.trouble = Trouble::unsupported, .what = "x", .limit = "file memory", .remedy = {}}};
    };
    EXPECT_EQ(refusal([&] { static_cast<void>(cache.lease(at(1))); }).error_number(), EOPNOTSUPP);
    EXPECT_EQ(asked, 1);
    EXPECT_EQ(cache.snapshot().evictions, 0u);
    EXPECT_EQ(cache.snapshot().keys, 1u);
}

TEST_F(Budgets, DeregistrationIsNotFasterThanAsked)
{
    Cache cache{*domain, alone({.keys = 2, .deregister_keys = 200})};
    const auto begin = std::chrono::steady_clock::now();
    for (std::size_t i = 0; i < 12; ++i) // ten go, 5 ms each, but for the first 10 ms
        static_cast<void>(cache.lease(at(i)));
    EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds{30});
    cache.close(); // which does not wait for that
}

TEST_F(Budgets, WhatWasNeverRegisteredTakesNoTimeToGiveBack)
{
    Cache cache{*domain, alone({.bytes = CacheOptions::unlimited, .deregister_keys = 1})};
    const auto begin = std::chrono::steady_clock::now();
    const std::span<std::byte> nothing{reinterpret_cast<std::byte*>(page), std::size_t{1} << 62};
    for (int i = 0; i < 4; ++i) // each would take a second by its number, and years by its length
        EXPECT_EQ(refusal([&] { static_cast<void>(cache.lease(nothing)); }).error_number(), EFAULT);
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds{3});
    EXPECT_EQ(cache.snapshot().keys, 0u);
    EXPECT_EQ(cache.snapshot().bytes, 0u);
    EXPECT_EQ(cache.snapshot().deregistered, 0u);
}

TEST_F(Budgets, OptionsOutOfTheirRangeAreRefused)
{
    for (const CacheOptions& wrong :
         {CacheOptions{.bytes = 0}, CacheOptions{.keys = 0}, CacheOptions{.keys = (std::size_t{1} << 20) + 1},
          CacheOptions{.entries = 0}, CacheOptions{.deregister_bytes = 0}, CacheOptions{.deregister_keys = 0},
          CacheOptions{.batch_threads = 0}})
        EXPECT_EQ(refusal([&] { const Cache cache(*domain, wrong); }).error_number(), EINVAL);
}

} // namespace
} // namespace mrz::test
