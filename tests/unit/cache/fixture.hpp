// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Memory to lease, and a device that a test tells what to say.
#pragma once

#include <mrzone/cache.hpp>

#include "support/fake_driver.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <sys/mman.h>

namespace mrz::test {

class CacheTest : public testing::Test {
  protected:
    static constexpr std::size_t page = 4096;
    static constexpr std::size_t pages = 256;

    void SetUp() override
    {
        script() = {};
        // With a page before and one after that nobody may use. Above it a room is left that is larger: the kernel
        // takes the highest one that fits, so what a test unmaps here for a while no other thread is given.
        static constexpr std::size_t room = 256_MiB;
        void* const mapped = mmap(nullptr, (pages + 2) * page + room, PROT_READ | PROT_WRITE,
                                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        ASSERT_NE(mapped, MAP_FAILED);
        munmap(static_cast<std::byte*>(mapped) + (pages + 2) * page, room);
        mapping = {static_cast<std::byte*>(mapped), (pages + 2) * page};
        memory = mapping.subspan(page, pages * page);
        ASSERT_EQ(mprotect(mapping.data(), page, PROT_NONE), 0);
        ASSERT_EQ(mprotect(memory.data() + memory.size(), page, PROT_NONE), 0);
        domain.emplace(Domain::open("soft"));
    }
    void TearDown() override
    {
        domain.reset();
        EXPECT_EQ(script().registered, 0);
        EXPECT_EQ(script().domains, 0);
        munmap(mapping.data(), mapping.size());
    }

    //! Some pages.
    [[nodiscard]] std::span<std::byte> at(std::size_t first, std::size_t count = 1) const
    {
        return memory.subspan(first * page, count * page);
    }
    //! The cache's options, with nothing merged.
    static CacheOptions alone(CacheOptions options = {})
    {
        options.merge_up_to = 0;
        return options;
    }
    //! The error that \p work ends with.
    template <class Work>
    static Error refusal(Work work)
    {
        try {
            work();
        } catch (const Error& error) {
            return error;
        }
        ADD_FAILURE() << "nothing was refused";
        return Error{1, {.what = "no error", .limit = {}, .remedy = {}}};
    }
    //! Waits for what the control thread does.
    template <class Condition>
    static void wait_until(Condition condition)
    {
        while (!condition())
            std::this_thread::yield();
    }
    //! Waits until only what is leased or idle is registered.
    static void settle(const Cache& cache)
    {
        wait_until([&] {
            const CacheSnapshot now = cache.snapshot();
            return now.keys == now.regions;
        });
    }

    std::span<std::byte> mapping;
    std::span<std::byte> memory;
    std::optional<Domain> domain;
};

inline bool covers(const Lease& lease)
{
    const auto region = lease.region_bytes();
    const auto bytes = lease.bytes();
    return region.data() <= bytes.data() && region.data() + region.size() >= bytes.data() + bytes.size();
}

} // namespace mrz::test
