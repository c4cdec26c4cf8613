// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Threads take memory away and bring other to the same addresses, while others lease it and let a device work with
//! the keys, and yet others lease without looking. What a key reaches shows whether it is stale.
//! MRZ_SOAK_SECONDS says how long each test takes.
#include "carrier.hpp"
#include "plots.hpp"

#include <mrzone/cache.hpp>
#include <mrzone/host.hpp>
#include <mrzone/reader.hpp>

#include "support/pool_guard.hpp"
#include "support/require.hpp"
#include "support/userfault.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <sys/wait.h>

namespace mrz::test {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

Clock::duration duration()
{
    const char* const seconds = std::getenv("MRZ_SOAK_SECONDS");
    return seconds != nullptr ? std::chrono::seconds{std::atoi(seconds)} : 2s;
}

//! What must not grow, however long it takes.
struct Held {
    std::uint64_t pinned = 0;
    std::size_t descriptors = 0;
    long mappings = 0;

    static Held now()
    {
        Held held;
        const host::LockedMemory memory = host::locked_memory();
        held.pinned = memory.pinned.value_or(0) + memory.locked.value_or(0);
        held.descriptors = static_cast<std::size_t>(std::distance(
            std::filesystem::directory_iterator{"/proc/self/fd"}, std::filesystem::directory_iterator{}));
        std::ifstream maps{"/proc/self/maps"};
        held.mappings = std::count(std::istreambuf_iterator<char>{maps}, {}, '\n');
        return held;
    }
};

class Soak : public testing::Test {
  protected:
    void SetUp() override
    {
        MRZ_REQUIRE(may_watch(), "userfaultfd(2) is not allowed");
        MRZ_REQUIRE(*Carrier::device() != 0, "io_uring, or reading frames, is not allowed");
        domain.emplace(Domain::open(Carrier::device()));
        carrier.emplace(*domain);
    }

    void build(std::initializer_list<Kind> kinds, std::size_t of_each, bool discards = false)
    {
        for (const Kind kind : kinds)
            for (std::size_t i = 0; i < of_each; ++i)
                plots.emplace_back(kind, plots.size(), discards);
    }
    //! Runs all that there is to do in threads for some time.
    void run(Clock::duration time, bool forks)
    {
        Cache cache{*domain, {.bytes = 16_MiB, .keys = 64, .watch = Watch::userfaultfd}};
        std::vector<std::thread> threads;
        const auto start = [&](auto work) {
            threads.emplace_back([&, work, seed = static_cast<unsigned>(threads.size())] {
                std::mt19937 random{seed};
                try {
                    std::vector<std::byte> outside(Plot::step);
                    while (!stop)
                        (this->*work)(cache, outside, random);
                } catch (const std::exception& error) {
                    say(error.what());
                }
            });
        };
        start(&Soak::change);
        start(&Soak::change);
        start(&Soak::read);
        start(&Soak::read);
        start(&Soak::write);
        start(&Soak::lease_blindly);
        start(&Soak::make_resident);
        start(&Soak::look_up);
        if (forks)
            start(&Soak::fork_and_write);
        const auto end = Clock::now() + time;
        while (!stop && Clock::now() < end)
            std::this_thread::sleep_for(10ms); // how long it is to take, and not what is waited for
        stop = true;
        for (std::thread& thread : threads)
            thread.join();
        stop = false;
        for (Plot& plot : plots)
            plot.resident.reset();
        const CacheSnapshot did = cache.snapshot();
        hits = did.hits;
        unkept = did.unkept;
        invalidations = did.invalidations;
        EXPECT_EQ(did.leases, 0u);
        cache.close();
    }
    //! A first run shows what is held in the end, and a longer one that it is no more.
    void soak(bool forks = false)
    {
        run(200ms, forks);
        const Held before = Held::now();
        run(duration(), forks);
        const Held after = Held::now();
        EXPECT_EQ(after.pinned, before.pinned);
        EXPECT_EQ(after.descriptors, before.descriptors);
#if !defined(__SANITIZE_THREAD__) // which maps memory for what it notes
        EXPECT_LE(after.mappings, before.mappings + 40) << "more than threads and the allocator take";
#endif
        std::string counted;
        for (const auto& [name, count] : {std::pair{"changes", &changes},
                                          {"reads", &reads},
                                          {"writes", &writes},
                                          {"blind", &blind},
                                          {"found", &found},
                                          {"forked", &forked},
                                          {"hits", &hits},
                                          {"unkept", &unkept}}) {
            RecordProperty(name, std::to_string(count->load()));
            counted += std::string{" "} + name + " " + std::to_string(count->load());
        }
        std::printf("          %s\n", counted.c_str());
        EXPECT_GT(changes, 0u);
        EXPECT_GT(reads, 0u);
        EXPECT_GT(writes, 0u);
        EXPECT_GT(found, 0u);
        EXPECT_GT(hits, 0u); // of the longer run: in the first one a busy machine may get to none
        EXPECT_GT(invalidations, 0u);
    }
    void say(const std::string& what)
    {
        const std::scoped_lock guard{failure_mutex};
        stop = true;
        ADD_FAILURE() << what;
    }
    Plot& some_plot(std::mt19937& random)
    {
        return plots[random() % plots.size()];
    }

    void change(Cache&, std::span<std::byte>, std::mt19937& random)
    {
        Plot& plot = some_plot(random);
        const auto lock = plot.own();
        plot.change(random);
        ++changes;
    }
    // The lease begins after all that was unmapped is unmapped, as the lock says.
    void read(Cache& cache, std::span<std::byte> outside, std::mt19937& random)
    {
        Plot& plot = some_plot(random);
        const auto lock = plot.use();
        const auto [first, last] = plot.some_pages(random);
        const Lease lease = cache.lease(plot.part(first, last - first));
        const std::span<std::byte> copy = outside.first(lease.bytes().size());
        if (!carrier->carry(Way::out_of_memory, lease.lkey(), lease.bytes(), copy))
            say("a key of a lease does not work");
        if (!plot.has_marks(copy, first))
            say("a key shows what is not there any more");
        ++reads;
    }
    void write(Cache& cache, std::span<std::byte> outside, std::mt19937& random)
    {
        Plot& plot = some_plot(random);
        const auto lock = plot.own();
        const Lease lease = cache.lease(plot.bytes());
        plot.next_generation();
        plot.write_marks(outside.first(plot.size()), 0);
        if (!carrier->carry(Way::into_memory, lease.lkey(), lease.bytes(), outside.first(plot.size())))
            say("a key of a lease does not work");
        if (!plot.has_marks(plot.bytes(), 0))
            say("what was written with a key went to where nothing is any more");
        ++writes;
    }
    // Whoever does so may get anything; but nobody who comes later.
    void lease_blindly(Cache& cache, std::span<std::byte>, std::mt19937& random)
    {
        Plot& plot = some_plot(random);
        const auto [first, last] = plot.some_pages(random);
        try {
            const Lease lease = cache.lease(plot.part(first, last - first));
            ++blind;
        } catch (const Error&) { // NOLINT(bugprone-empty-catch)
            // Nothing is mapped there.
        }
    }
    void make_resident(Cache&, std::span<std::byte>, std::mt19937& random)
    {
        Plot& plot = some_plot(random);
        const auto lock = plot.own();
        plot.resident.reset();
        plot.resident.emplace(domain->register_memory(plot.bytes(), Access::local_write));
    }
    // Nobody's unmapping is under way, so what is found is a key to what is there.
    void look_up(Cache&, std::span<std::byte> outside, std::mt19937& random)
    {
        const Reader reader{*domain};
        for (int i = 0; i < 16 && !stop; ++i) {
            Plot& plot = some_plot(random);
            const auto lock = plot.use();
            const auto [first, last] = plot.some_pages(random);
            const std::span<std::byte> memory = plot.part(first, last - first);
            const auto key = reader.lookup(memory.data(), memory.size());
            if (!key)
                continue;
            const std::span<std::byte> copy = outside.first(memory.size());
            if (!carrier->carry(Way::out_of_memory, *key, memory, copy))
                say("a key that was looked up does not work");
            if (!plot.has_marks(copy, first))
                say("a key that was looked up shows what is not there any more");
            ++found;
        }
    }
    void fork_and_write(Cache& cache, std::span<std::byte> outside, std::mt19937& random)
    {
        Plot& plot = some_plot(random);
        const auto lock = plot.own();
        const Lease lease = cache.lease(plot.bytes());
        const pid_t child = ::fork();
        if (child == 0) {
            if (plot.kind() != Kind::memory_file) // which is the parent's, too
                std::memset(plot.bytes().data(), 0, plot.bytes().size());
            ::munmap(plot.bytes().data(), plot.bytes().size());
            ::_exit(0);
        }
        plot.fill(); // a copy, if the kernel gave the pinned page to the child
        const std::span<std::byte> copy = outside.first(plot.size());
        if (!carrier->carry(Way::out_of_memory, lease.lkey(), lease.bytes(), copy) || !plot.has_marks(copy, 0))
            say("after a fork a key shows other pages than the parent's");
        int status = 0;
        ::waitpid(child, &status, 0);
        if (!WIFEXITED(status))
            say("a child died");
        ++forked;
    }

    std::optional<Domain> domain;
    std::optional<Carrier> carrier;
    std::deque<Plot> plots;
    std::atomic<bool> stop = false;
    std::mutex failure_mutex;
    std::atomic<std::uint64_t> changes = 0, reads = 0, writes = 0, blind = 0, found = 0, forked = 0, hits = 0,
                               invalidations = 0, unkept = 0;
};

TEST_F(Soak, OfMemoryThatComesAndGoes)
{
    build({Kind::anonymous, Kind::memory_file}, 4);
    soak();
}

TEST_F(Soak, OfAFewPagesThatEverybodyWants)
{
    build({Kind::anonymous}, 1);
    soak();
}

TEST_F(Soak, OfTransparentHugepages)
{
    build({Kind::transparent, Kind::anonymous}, 2);
    soak();
}

TEST_F(Soak, OfMemoryThatIsDiscarded)
{
    build({Kind::anonymous, Kind::memory_file}, 2, true);
    soak();
}

#if !defined(__SANITIZE_THREAD__) // which takes its locks across fork, and forks seldom then
TEST_F(Soak, WithForksInTheMidst)
{
    build({Kind::anonymous, Kind::memory_file}, 2);
    soak(true);
    EXPECT_GT(forked, 0u);
}
#endif

TEST_F(Soak, OfHugepages)
{
    MRZ_REQUIRE(::geteuid() == 0, "hugepages are reserved for it by root");
    constexpr std::size_t each = 2;
    // Of each plot: what is there, what is moved away, and what leases that are no longer of use still hold.
    const PoolGuard pool{2_MiB, 64};
    build({Kind::hugepages, Kind::anonymous}, each);
    soak(true);
    plots.clear();
}

} // namespace
} // namespace mrz::test
