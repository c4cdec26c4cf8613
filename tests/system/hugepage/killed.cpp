// SPDX-License-Identifier: BSD-3-Clause
#include <mrzone/hugepage.hpp>

#include "support/in_child.hpp"
#include "support/pool_guard.hpp"
#include "support/require.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <random>
#include <thread>

#include <poll.h>
#include <signal.h>
#include <unistd.h>

namespace mrz::test {
namespace {

using std::chrono::microseconds;
using std::chrono::steady_clock;

//! Whether the pool is back within some seconds: a killed process's pages go when the kernel takes it apart.
bool comes_back(const PoolGuard& guard, std::uint64_t pages)
{
    const auto until = steady_clock::now() + std::chrono::seconds{10};
    while (guard.free() != pages)
        if (steady_clock::now() > until)
            return false;
    return true;
}

TEST(Killed, AtAnyMomentOfBuildingOrDestroyingNoPageStays)
{
    MRZ_REQUIRE(geteuid() == 0, "needs root, to change a pool");
    constexpr std::uint64_t pages = 130;
    const PoolGuard guard{2_MiB, pages};
    const WindowOptions options{.size = 128_MiB, .threads = 2};

    scramble_pool(2_MiB); // also the first touch of the memory, which is slow on virtual machines
    const auto start = steady_clock::now();
    {
        const Window window = Window::build(options);
    }
    const auto once = std::chrono::duration_cast<microseconds>(steady_clock::now() - start);

    std::mt19937_64 random{std::random_device{}()};
    int held_pages = 0;
    for (int kill_number = 0; kill_number < 60; ++kill_number) {
        int ready[2];
        ASSERT_EQ(pipe(ready), 0);
        const pid_t child = start_child([&] {
            if (write(ready[1], "r", 1) != 1)
                return;
            for (;;)
                const Window window = Window::build(options);
        });
        char byte = 0;
        ASSERT_EQ(read(ready[0], &byte, 1), 1);
        close(ready[0]);
        close(ready[1]);
        // The moment is the test's subject: anywhere in one and a half builds.
        std::this_thread::sleep_for(microseconds{random() % static_cast<std::uint64_t>(once.count() * 3 / 2)});
        held_pages += guard.free() != pages ? 1 : 0;
        ASSERT_EQ(kill(child, SIGKILL), 0);
        const int status = wait_for(child);
        EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << status;
        ASSERT_TRUE(comes_back(guard, pages))
            << "after kill " << kill_number << ": " << guard.free() << " of " << pages;
    }
    EXPECT_GT(held_pages, 20) << "most kills must meet a build that holds pages, else they show nothing";
}

} // namespace
} // namespace mrz::test
