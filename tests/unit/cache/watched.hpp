// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Memory that is watched by the kernel itself.
#pragma once

#include "fixture.hpp"

#include "support/require.hpp"
#include "support/userfault.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <functional>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>

namespace mrz::test {

inline std::size_t watched_mappings()
{
    std::ifstream smaps{"/proc/self/smaps"};
    std::size_t count = 0;
    for (std::string line; std::getline(smaps, line);)
        count += line.starts_with("VmFlags:") && line.find(" uw") != std::string::npos ? 1 : 0;
    return count;
}

inline std::size_t threads_named(const std::string& name)
{
    std::size_t count = 0;
    for (const auto& task : std::filesystem::directory_iterator{"/proc/self/task"}) {
        std::ifstream file{task.path() / "comm"};
        std::string found;
        std::getline(file, found);
        count += found == name ? 1 : 0;
    }
    return count;
}

class WatchedMemory : public CacheTest {
  protected:
    void SetUp() override
    {
        CacheTest::SetUp();
        MRZ_REQUIRE(may_watch(), "userfaultfd(2) is not allowed");
        cache.emplace(*domain, alone({.watch = Watch::userfaultfd}));
        // When a thread begins AddressSanitizer maps memory for its signals, perhaps where a test has just unmapped
        // some. Both threads run once this has happened.
        static_cast<void>(key_of(at(0)));
        cache->invalidate(memory);
        wait_until([] { return script().registered == 0 && watched_mappings() == 0; });
    }
    void TearDown() override
    {
        cache.reset();
        EXPECT_EQ(watched_mappings(), 0u);
        wait_until(
            [] { return threads_named("mrz-watch") == 0; }); // the kernel lists one that was joined for a while
        CacheTest::TearDown();
    }
    LKey key_of(std::span<std::byte> bytes) { return cache->lease(bytes).lkey(); }
    //! What \p change leaves of the keys that pages 3 and 4 and 40 had.
    void expect_to_end_those_of(std::initializer_list<std::size_t> ended, const std::function<void()>& change)
    {
        std::array<LKey, 3> before{};
        constexpr std::array<std::size_t, 3> places{3, 4, 40};
        for (std::size_t i = 0; i < places.size(); ++i)
            before[i] = key_of(at(places[i]));
        const std::uint64_t invalidations = cache->snapshot().invalidations;
        change();
        for (std::size_t i = 0; i < places.size(); ++i) {
            if (std::ranges::find(ended, places[i]) == ended.end())
                EXPECT_EQ(key_of(at(places[i])), before[i]) << "page " << places[i];
            else
                EXPECT_NE(key_of(at(places[i])), before[i]) << "page " << places[i];
        }
        // The change returns before it is counted, but leases wait.
        EXPECT_EQ(cache->snapshot().invalidations - invalidations, ended.size());
    }
    static void map_again(std::span<std::byte> bytes)
    {
        ASSERT_EQ(mmap(bytes.data(), bytes.size(), PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0),
                  bytes.data());
    }

    std::optional<Cache> cache;
};

} // namespace mrz::test
