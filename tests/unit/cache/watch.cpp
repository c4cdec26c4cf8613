// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! What happens to memory is done to it for real; only the device is made up.
#include "watched.hpp"

#include "support/in_child.hpp"
#include "support/lowered.hpp"
#include "support/require.hpp"

#include "state.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <limits>
#include <memory>
#include <string>

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <malloc.h>
#include <sys/auxv.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace mrz::test {
namespace {

TEST_F(WatchedMemory, ThatIsUnmappedIsForgotten)
{
    expect_to_end_those_of({3, 4, 40}, [&] {
        munmap(memory.data(), memory.size());
        map_again(memory);
    });
}

TEST_F(WatchedMemory, ThatIsUnmappedInPartIsForgottenInPart)
{
    expect_to_end_those_of({4}, [&] {
        munmap(at(4).data(), page);
        map_again(at(4));
    });
}

TEST_F(WatchedMemory, ThatIsMappedOverIsForgotten)
{
    expect_to_end_those_of({3, 4}, [&] {
        ASSERT_NE(
            mmap(at(3).data(), 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
            MAP_FAILED);
    });
}

TEST_F(WatchedMemory, ThatIsDiscardedIsForgotten)
{
    expect_to_end_those_of({3}, [&] { ASSERT_EQ(madvise(at(3).data(), page, MADV_DONTNEED), 0); });
}

TEST_F(WatchedMemory, ThatIsMovedIsForgottenHereAndThere)
{
    expect_to_end_those_of({3, 40}, [&] {
        ASSERT_EQ(mremap(at(3).data(), page, page, MREMAP_MAYMOVE | MREMAP_FIXED, at(40).data()), at(40).data());
        map_again(at(3));
    });
}

TEST_F(WatchedMemory, ThatIsMappedAgainIsWatchedAgain)
{
    for (int i = 0; i < 50; ++i)
        expect_to_end_those_of({3, 4}, [&] {
            munmap(at(3).data(), 2 * page);
            map_again(at(3, 2));
        });
}

TEST_F(WatchedMemory, BehindALeaseStaysRegisteredUntilItsEnd)
{
    Lease lease = cache->lease(at(3));
    munmap(at(3).data(), page);
    map_again(at(3));
    EXPECT_NE(key_of(at(3)), lease.lkey());
    EXPECT_EQ(script().registered, 2);
    lease.release();
    wait_until([] { return script().registered == 1; });
}

TEST_F(WatchedMemory, ThatGoesWhileItIsRegisteredIsNotKept)
{
    bool first = true;
    script().on_register = [&](const RegisterRequest&) {
        if (!std::exchange(first, false))
            return;
        munmap(at(3).data(), page);
        map_again(at(3)); // and nobody watches it
    };
    const LKey before = key_of(at(3));
    EXPECT_NE(key_of(at(3)), before);
}

TEST_F(WatchedMemory, ThatWasDiscardedIsKeptAfterAWhile)
{
    static_cast<void>(key_of(at(3)));
    ASSERT_EQ(madvise(at(3).data(), page, MADV_DONTNEED), 0);
    const LKey soon = key_of(at(3));
    EXPECT_NE(key_of(at(3)), soon); // the page could have been the old one
    EXPECT_GE(cache->snapshot().unkept, 1u);
    wait_until([&] { return key_of(at(3)) == key_of(at(3)); });
}

TEST_F(WatchedMemory, IsOneMappingStill)
{
    const auto mappings = [&] { // that its pages are in
        std::ifstream maps{"/proc/self/maps"};
        std::ptrdiff_t count = 0;
        for (std::string line; std::getline(maps, line);) {
            const auto begin = std::stoull(line, nullptr, 16);
            count += begin >= reinterpret_cast<std::uintptr_t>(memory.data()) &&
                             begin < reinterpret_cast<std::uintptr_t>(memory.data()) + memory.size()
                         ? 1
                         : 0;
        }
        return count;
    };
    static_cast<void>(key_of(at(0)));
    const auto before = mappings();
    for (std::size_t i = 1; i < pages; ++i)
        static_cast<void>(key_of(at(i)));
    EXPECT_EQ(mappings(), before);
    EXPECT_EQ(watched_mappings(), 1u);
}

TEST_F(WatchedMemory, IsLeftInPeaceWhenNothingIsRegisteredInIt)
{
    cache.emplace(*domain, alone({.keys = 1, .watch = Watch::userfaultfd}));
    void* const other = mmap(nullptr, page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(other, MAP_FAILED);
    static_cast<void>(key_of(at(0)));
    static_cast<void>(key_of({static_cast<std::byte*>(other), page}));
    wait_until([] { return watched_mappings() == 1; });
    munmap(other, page);
    wait_until([] { return watched_mappings() == 0; });
}

TEST_F(WatchedMemory, IsWatchedForAllCachesUntilTheLastOneGoes)
{
    std::optional<Cache> second;
    second.emplace(*domain, alone({.watch = Watch::userfaultfd}));
    const LKey first_key = key_of(at(3));
    const LKey second_key = second->lease(at(3)).lkey();
    EXPECT_EQ(threads_named("mrz-watch"), 1u);
    munmap(at(3).data(), page);
    map_again(at(3));
    EXPECT_NE(key_of(at(3)), first_key);
    EXPECT_NE(second->lease(at(3)).lkey(), second_key);
    cache.reset();
    const LKey alive = second->lease(at(3)).lkey();
    EXPECT_EQ(second->lease(at(3)).lkey(), alive);
    munmap(at(3).data(), page);
    map_again(at(3));
    EXPECT_NE(second->lease(at(3)).lkey(), alive);
}

#if !defined(__SANITIZE_ADDRESS__) // whose heap does not shrink
// The thread that reads would wait for itself, or for one that waits for it, if it freed anything or took a lock that
// is held while memory is freed.
TEST_F(WatchedMemory, MayBeOfAHeapThatShrinksAllTheTime)
{
    cache.emplace(*domain, alone({.keys = 16, .watch = Watch::userfaultfd}));
    std::atomic<bool> stop = false;
    std::vector<std::thread> threads;
    for (int i = 0; i < 2; ++i)
        threads.emplace_back([&] {
            while (!stop) {
                std::vector<std::unique_ptr<std::byte[]>> blocks;
                for (std::size_t size = 1; size < 24; ++size)
                    blocks.push_back(std::make_unique<std::byte[]>(size * 3000));
                for (const auto& block : blocks)
                    static_cast<void>(cache->lease({block.get(), 3000}));
                blocks.clear();
                malloc_trim(0);
            }
        });
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds{500};
    wait_until([&] { return std::chrono::steady_clock::now() > end; });
    stop = true;
    for (std::thread& thread : threads)
        thread.join();
#if !defined(__SANITIZE_THREAD__) // whose heap need not
    EXPECT_GT(cache->snapshot().invalidations, 0u);
#endif
}
#endif

#if !defined(__SANITIZE_THREAD__) // which stands no threads in a child
TEST_F(WatchedMemory, DoesNotKeepAChildWaiting)
{
    const LKey before = key_of(at(3));
    in_child([&] {
        alarm(30); // SIGALRM ends what hangs
        munmap(at(3).data(), page);
        ASSERT_EQ(madvise(at(4).data(), page, MADV_DONTNEED), 0);
        EXPECT_EQ(watched_mappings(), 0u);
        const Domain own = Domain::open("soft");
        Cache mine{own, alone({.watch = Watch::userfaultfd})};
        const LKey key = mine.lease(at(5)).lkey();
        EXPECT_EQ(mine.lease(at(5)).lkey(), key);
        munmap(at(5).data(), page);
        map_again(at(5));
        EXPECT_NE(mine.lease(at(5)).lkey(), key);
    });
    EXPECT_EQ(key_of(at(3)), before);
}
#endif

TEST_F(WatchedMemory, IsUnmappedFreelyWhenTheCacheIsGoneAndAChildIsNot)
{
    static_cast<void>(key_of(at(3)));
    std::array<int, 2> pipe{};
    ASSERT_EQ(::pipe2(pipe.data(), O_CLOEXEC), 0);
    const pid_t child = start_child([&] {
        close(pipe[1]);
        char end = 0;
        EXPECT_EQ(read(pipe[0], &end, 1), 0);
    });
    cache.reset();
    alarm(30);
    munmap(at(3).data(), page);
    alarm(0);
    close(pipe[0]);
    close(pipe[1]);
    expect_success(child);
}

TEST_F(WatchedMemory, CannotBeThatOfSystemV)
{
    const int id = shmget(IPC_PRIVATE, page, 0600);
    ASSERT_GE(id, 0);
    void* const memory_of_it = shmat(id, nullptr, 0);
    shmctl(id, IPC_RMID, nullptr);
    ASSERT_NE(memory_of_it, reinterpret_cast<void*>(-1));
    const std::span bytes{static_cast<std::byte*>(memory_of_it), page};
    EXPECT_NE(key_of(bytes), key_of(bytes));
    EXPECT_EQ(cache->snapshot().unkept, 2u);
    shmdt(memory_of_it);
}

TEST_F(WatchedMemory, IsNotForgottenForOtherThatCannotBeWatched)
{
    const cache::ProcessWatch watch;
    const LKey before = key_of(at(3));
    const std::size_t mappings = watch.watcher().mappings();
    ASSERT_GT(mappings, 0u);
    const int id = shmget(IPC_PRIVATE, page, 0600);
    ASSERT_GE(id, 0);
    void* const shared = shmat(id, nullptr, 0);
    shmctl(id, IPC_RMID, nullptr);
    ASSERT_NE(shared, reinterpret_cast<void*>(-1));
    // That of the process which the kernel does not let anybody watch, too.
    const auto vdso = reinterpret_cast<std::byte*>(getauxval(AT_SYSINFO_EHDR));
    for (const std::span<std::byte> other : {std::span{static_cast<std::byte*>(shared), page}, std::span{vdso, page}})
        EXPECT_FALSE(watch.watcher().watch(cache::range_of(other)));
    EXPECT_EQ(watch.watcher().mappings(), mappings);
    EXPECT_EQ(key_of(at(3)), before);
    shmdt(shared);
}

TEST_F(WatchedMemory, IsNotWatchedInPartWhereThereIsNoneElsewhere)
{
    munmap(at(3).data(), page);
    const cache::ProcessWatch watch;
    static_cast<void>(key_of(at(40, 1)));
    const std::size_t mappings = watch.watcher().mappings();
    const cache::Range everything{page, std::numeric_limits<std::uintptr_t>::max() / 2};
    for (const cache::Range& torn : {cache::range_of(at(2, 3)), cache::range_of(at(3, 2)), everything})
        EXPECT_FALSE(watch.watcher().watch(torn));
    EXPECT_EQ(watch.watcher().mappings(), mappings);
    map_again(at(3));
}

//! An address in the stack of the thread of this name; 0 unless it waits in the kernel.
std::uintptr_t stack_of_thread(const std::string& name)
{
    for (const auto& task : std::filesystem::directory_iterator{"/proc/self/task"}) {
        std::string comm;
        std::ifstream{task.path() / "comm"} >> comm;
        if (comm != name)
            continue;
        std::ifstream syscall{task.path() / "syscall"}; // number, six arguments, stack and instruction pointer
        const std::vector<std::string> words{std::istream_iterator<std::string>{syscall}, {}};
        if (words.size() == 9)
            return std::stoull(words[7], nullptr, 16);
    }
    return 0;
}

// A thread that ends discards its stack.
TEST_F(WatchedMemory, MayBeTheStackOfTheThreadThatWatches)
{
    alarm(30); // SIGALRM ends what hangs
    {
        const cache::ProcessWatch watch;
        std::uintptr_t stack = 0;
        wait_until([&] { return (stack = stack_of_thread("mrz-watch") / page * page) != 0; });
        EXPECT_TRUE(watch.watcher().watch({stack, stack + page}));
        EXPECT_EQ(watched_mappings(), 1u);
        cache.reset();
    }
    alarm(0);
}

TEST_F(WatchedMemory, CannotBeThatOfSomebodyElsesUserfaultfd)
{
    const int other = static_cast<int>(syscall(SYS_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY));
    ASSERT_GE(other, 0);
    uffdio_api api{.api = UFFD_API, .features = 0, .ioctls = 0};
    ASSERT_EQ(ioctl(other, UFFDIO_API, &api), 0);
    uffdio_register request{.range = {.start = reinterpret_cast<std::uintptr_t>(memory.data()), .len = memory.size()},
                            .mode = UFFDIO_REGISTER_MODE_WP,
                            .ioctls = 0};
    ASSERT_EQ(ioctl(other, UFFDIO_REGISTER, &request), 0);
    EXPECT_NE(key_of(at(3)), key_of(at(3)));
    EXPECT_EQ(cache->snapshot().unkept, 2u);
    close(other);
    EXPECT_EQ(key_of(at(3)), key_of(at(3)));
}

TEST_F(WatchedMemory, IsSeenToBeWatchedInBothWays)
{
    for (const bool old : {false, true}) {
        cache::Userfault userfault;
        if (old)
            userfault.pretend_old();
        const auto range = [&](std::size_t first, std::size_t count) { return cache::range_of(at(first, count)); };
        EXPECT_FALSE(userfault.is_watched(range(0, 8)));
        ASSERT_TRUE(userfault.watch(range(0, pages)));
        EXPECT_TRUE(userfault.is_watched(range(0, pages)));
        EXPECT_TRUE(userfault.is_watched(range(3, 1)));
        std::thread unmaps{[&] { munmap(at(4).data(), page); }};
        std::array<cache::Event, 4> events;
        wait_until([&] { return !userfault.read(events).empty(); });
        unmaps.join();
        EXPECT_EQ(events[0].what, cache::Event::Is::unmapped);
        EXPECT_EQ(events[0].range, range(4, 1));
        EXPECT_FALSE(userfault.is_watched(range(3, 3))) << "a gap";
        EXPECT_FALSE(userfault.is_watched(range(3, 2))) << "a gap at the end";
        EXPECT_FALSE(userfault.is_watched(range(4, 2))) << "a gap at the beginning";
        map_again(at(4));
        EXPECT_FALSE(userfault.is_watched(range(3, 3))) << "mapped anew";
        EXPECT_TRUE(userfault.is_watched(range(0, 4)));
        EXPECT_TRUE(userfault.is_watched(range(5, pages - 5)));
    }
}

struct Deaf final : cache::Listener {
    void note_pending(bool) noexcept override {}
    void note_gone(std::span<const std::byte>) noexcept override {}
    void list_ranges(std::vector<cache::Range>&) const override {}
};

// What is not watched goes without a word, so it must have been seen that all of it is.
TEST_F(WatchedMemory, IsNotWatchedAsLongAsAPartIsMissing)
{
    Deaf deaf;
    const cache::ProcessWatch watch;
    cache::Watcher& watcher = watch.watcher();
    const cache::Listening listening{watcher, deaf};
    munmap(at(4).data(), page);
    EXPECT_FALSE(watcher.watch(cache::range_of(at(3, 3))));
    EXPECT_FALSE(watcher.watch(cache::range_of(at(4))));
    map_again(at(4));
    EXPECT_TRUE(watcher.watch(cache::range_of(at(3, 3))));
    EXPECT_TRUE(watcher.watch(cache::range_of(at(4).subspan(100, 7))));
    EXPECT_TRUE(watcher.watch(cache::range_of(memory)));
    EXPECT_GE(watcher.mappings(), 1u);
    watcher.sweep(); // nobody wants any
    EXPECT_EQ(watcher.mappings(), 0u);
    EXPECT_EQ(watched_mappings(), 0u);
}

// A limit may be raised, and a cache that is not watched would not be for good.
TEST(UnwatchedMemory, ForWantOfADescriptorThereIsNoCache)
{
    in_child([] {
        alarm(30);
        const Domain domain = Domain::open("soft");
        const int next = dup(0);
        ASSERT_GE(next, 0);
        close(next);
        int caches = 0;
        for (int more = 0; more < 12; ++more) {
            const auto few = static_cast<rlim_t>(next + more);
            const rlimit limit{few, 1024};
            ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
            try {
                const Cache cache{domain};
                EXPECT_TRUE(cache.snapshot().watched) << more << " descriptors";
                ++caches;
            } catch (const Error& error) {
                EXPECT_EQ(error.error_number(), EMFILE);
                EXPECT_EQ(error.cause().trouble, Trouble::internal);
            }
        }
        EXPECT_GT(caches, 0);
        EXPECT_LT(caches, 12);
    });
}

//! What becomes of a cache where userfaultfd is not to be had.
TEST(UnwatchedMemory, IsRegisteredForEachLease)
{
    in_child([] {
        alarm(30);
        forbid(__NR_userfaultfd, EPERM);
        static std::byte bytes[8192];
        const Domain domain = Domain::open("soft");
        std::string said;
        set_log_sink([&](Severity, std::string_view text) { said += text; });
        Cache cache{domain};
        const LKey first = cache.lease({bytes, 100}).lkey();
        EXPECT_NE(cache.lease({bytes, 100}).lkey(), first);
        EXPECT_EQ(cache.snapshot().hits, 0u);
        EXPECT_EQ(cache.snapshot().unkept, 2u);
        EXPECT_FALSE(cache.snapshot().watched);
        EXPECT_THAT(said, testing::HasSubstr("userfaultfd"));
        Cache told{domain, {.watch = Watch::none}};
        const LKey kept = told.lease({bytes, 100}).lkey();
        EXPECT_EQ(told.lease({bytes, 100}).lkey(), kept);
        try {
            Cache none{domain, {.watch = Watch::userfaultfd}};
            ADD_FAILURE() << "a cache without a watch";
        } catch (const Error& error) {
            EXPECT_EQ(error.error_number(), EPERM);
            EXPECT_EQ(error.cause().trouble, Trouble::permission);
        }
    });
}

} // namespace
} // namespace mrz::test
