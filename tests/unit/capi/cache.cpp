// SPDX-License-Identifier: BSD-3-Clause
#include <mrzone/mrzone.h>

#include "soft_domain.hpp"
#include "support/userfault.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <thread>
#include <vector>

namespace mrz::test {
namespace {

using testing::HasSubstr;

constexpr std::size_t page = 4096;

class CCache : public SoftDomainTest {
  protected:
    void SetUp() override
    {
        SoftDomainTest::SetUp();
        if (IsSkipped() || HasFatalFailure())
            return;
        ASSERT_EQ(mrz_cache_create(domain(), nullptr, &cache_), 0) << mrz_last_error();
    }
    void TearDown() override { mrz_cache_destroy(cache_); }

    //! In place of the one that SetUp() made.
    void make(const mrz_cache_options& options)
    {
        mrz_cache_destroy(cache_);
        ASSERT_EQ(mrz_cache_create(domain(), &options, &cache_), 0) << mrz_last_error();
    }
    [[nodiscard]] mrz_lease lease(std::size_t offset, std::size_t length,
                                  std::uint32_t access = MRZ_ACCESS_LOCAL_WRITE) const
    {
        mrz_lease taken{};
        EXPECT_EQ(mrz_lease_acquire(cache_, memory() + offset, length, access, &taken), 0) << mrz_last_error();
        return taken;
    }
    void lease_and_release(std::size_t offset, std::size_t length) const
    {
        mrz_lease taken = lease(offset, length);
        mrz_lease_release(&taken);
    }
    [[nodiscard]] mrz_cache_counts snapshot() const
    {
        mrz_cache_counts info{};
        info.struct_size = sizeof info;
        EXPECT_EQ(mrz_cache_snapshot(cache_, &info), 0) << mrz_last_error();
        return info;
    }
    static mrz_cache_options no_options()
    {
        mrz_cache_options options{};
        options.struct_size = sizeof options;
        return options;
    }
    static bool all_zero(const mrz_lease& lease)
    {
        const mrz_lease nothing{};
        return std::memcmp(&lease, &nothing, sizeof lease) == 0;
    }

    mrz_cache* cache_ = nullptr;
};

TEST_F(CCache, ALeaseSaysWhatAWorkRequestTakes)
{
    mrz_lease taken = lease(page + 100, 50);
    EXPECT_EQ(taken.address, memory() + page + 100);
    EXPECT_EQ(taken.length, 50u);
    EXPECT_EQ(taken.iova, reinterpret_cast<std::uintptr_t>(memory()) + page + 100);
    EXPECT_NE(taken.lkey.value, taken.rkey.value);
    EXPECT_EQ(mrz_lease_access(&taken), static_cast<std::uint32_t>(MRZ_ACCESS_LOCAL_WRITE));
    std::uint64_t length = 0;
    EXPECT_EQ(mrz_lease_region(&taken, &length), memory() + page);
    EXPECT_EQ(length, page);
    EXPECT_EQ(mrz_lease_region(&taken, nullptr), memory() + page);
    mrz_lease_release(&taken);
    EXPECT_TRUE(all_zero(taken));
}

TEST_F(CCache, ASecondLeaseIsAHitWithTheSameKey)
{
    mrz_lease first = lease(0, page);
    mrz_lease second = lease(10, 10);
    EXPECT_EQ(first.lkey.value, second.lkey.value);
    EXPECT_EQ(second.iova, first.iova + 10);
    mrz_cache_counts info = snapshot();
    EXPECT_EQ(info.hits, 1u);
    EXPECT_EQ(info.misses, 1u);
    EXPECT_EQ(info.leases, 2u);
    EXPECT_EQ(info.regions, 1u);
    EXPECT_EQ(info.keys, 1u);
    EXPECT_EQ(info.bytes, page);
    EXPECT_EQ(info.entries, 1u);
    mrz_lease_release(&first);
    std::thread{[&] { mrz_lease_release(&second); }}.join();
    EXPECT_EQ(snapshot().leases, 0u);
    EXPECT_EQ(snapshot().regions, 1u);
}

TEST_F(CCache, ARemoteRightGetsExactlyTheRange)
{
    mrz_lease taken = lease(100, 50, MRZ_ACCESS_REMOTE_READ);
    std::uint64_t length = 0;
    EXPECT_EQ(mrz_lease_region(&taken, &length), memory() + 100);
    EXPECT_EQ(length, 50u);
    EXPECT_EQ(mrz_lease_access(&taken), static_cast<std::uint32_t>(MRZ_ACCESS_REMOTE_READ));
    EXPECT_NE(taken.rkey.value, 0u);
    mrz_lease_release(&taken);
}

TEST_F(CCache, ACopyOfALeaseMayBeReleasedInItsPlace)
{
    mrz_lease taken = lease(0, page);
    std::array<unsigned char, sizeof taken> elsewhere{};
    std::memcpy(elsewhere.data(), &taken, sizeof taken);
    std::memset(&taken, 0, sizeof taken);
    mrz_lease_release(&taken);
    EXPECT_EQ(snapshot().leases, 1u);
    std::memcpy(&taken, elsewhere.data(), sizeof taken);
    mrz_lease_release(&taken);
    EXPECT_EQ(snapshot().leases, 0u);
    mrz_lease_release(&taken);
}

TEST_F(CCache, ABatchIsALeaseForEachRequest)
{
    const std::array<mrz_lease_request, 3> requests{
        {{.address = memory(), .length = page, .access = MRZ_ACCESS_LOCAL_WRITE, .reserved = 0},
         {.address = memory() + page, .length = page, .access = MRZ_ACCESS_LOCAL_WRITE, .reserved = 0},
         {.address = memory() + 8 * page, .length = 7, .access = MRZ_ACCESS_REMOTE_READ, .reserved = 0}}};
    std::array<mrz_lease, 3> leases{};
    ASSERT_EQ(mrz_lease_acquire_all(cache_, requests.data(), requests.size(), leases.data()), 0) << mrz_last_error();
    EXPECT_EQ(leases[0].lkey.value, leases[1].lkey.value);
    EXPECT_EQ(leases[1].address, memory() + page);
    EXPECT_EQ(leases[2].length, 7u);
    EXPECT_EQ(mrz_lease_access(&leases[2]), static_cast<std::uint32_t>(MRZ_ACCESS_REMOTE_READ));
    EXPECT_EQ(snapshot().merges, 1u);
    for (mrz_lease& one : leases)
        mrz_lease_release(&one);
    EXPECT_EQ(snapshot().leases, 0u);
    EXPECT_EQ(mrz_lease_acquire_all(cache_, nullptr, 0, nullptr), 0) << mrz_last_error();
}

TEST_F(CCache, OfABatchThatFailsNothingStays)
{
    std::array<mrz_lease_request, 2> requests{
        {{.address = memory(), .length = page, .access = MRZ_ACCESS_LOCAL_WRITE, .reserved = 0},
         {.address = memory() + page, .length = 0, .access = MRZ_ACCESS_LOCAL_WRITE, .reserved = 0}}};
    std::array<mrz_lease, 2> leases{};
    std::memset(leases.data(), 0x5a, sizeof leases);
    EXPECT_EQ(mrz_lease_acquire_all(cache_, requests.data(), requests.size(), leases.data()), -EINVAL);
    EXPECT_TRUE(all_zero(leases[0]) && all_zero(leases[1]));
    EXPECT_EQ(snapshot().keys, 0u);
    requests[1].length = page;
    requests[1].reserved = 1;
    EXPECT_EQ(mrz_lease_acquire_all(cache_, requests.data(), requests.size(), leases.data()), -EINVAL);
    EXPECT_THAT(mrz_last_error(), HasSubstr("reserved"));
    EXPECT_EQ(mrz_lease_acquire_all(cache_, requests.data(), requests.size(), nullptr), -EINVAL);
    EXPECT_EQ(mrz_lease_acquire_all(cache_, nullptr, 1, leases.data()), -EINVAL);
    EXPECT_TRUE(all_zero(leases[0]));
}

TEST_F(CCache, WhatWasInvalidatedIsNotLeasedAgain)
{
    mrz_lease before = lease(0, page);
    mrz_cache_invalidate(cache_, memory() + page, page);
    EXPECT_EQ(snapshot().invalidations, 0u);
    mrz_cache_invalidate(cache_, memory() + page - 1, 1);
    EXPECT_EQ(snapshot().invalidations, 1u);
    mrz_lease after = lease(0, page);
    EXPECT_NE(before.lkey.value, after.lkey.value);
    mrz_cache_invalidate(cache_, memory(), UINT64_MAX);
    EXPECT_EQ(snapshot().invalidations, 2u) << "to the end of all addresses";
    mrz_lease_release(&before);
    mrz_lease_release(&after);
}

TEST_F(CCache, LeasesWaitWhileSomethingIsPending)
{
    lease_and_release(0, page);
    mrz_cache_set_pending(cache_, 1);
    std::thread other{[&] { lease_and_release(0, page); }};
    mrz_cache_invalidate(cache_, memory(), page);
    mrz_cache_set_pending(cache_, 0);
    other.join();
    EXPECT_EQ(snapshot().misses, 2u) << "what came while it was pending got what was there before";
}

TEST_F(CCache, OptionsAreBudgets)
{
    mrz_cache_options options = no_options();
    options.keys = 1;
    options.bytes = 2 * page;
    options.merge_up_to = MRZ_MERGE_NOTHING;
    make(options);
    mrz_lease held = lease(0, page);
    mrz_lease refused{};
    EXPECT_EQ(mrz_lease_acquire(cache_, memory() + page, page, 0, &refused), -ENOBUFS);
    EXPECT_TRUE(all_zero(refused));
    EXPECT_EQ(mrz_lease_acquire(cache_, memory(), 3 * page, 0, &refused), -E2BIG);
    mrz_lease_release(&held);
    lease_and_release(page, page);
    EXPECT_EQ(snapshot().evictions, 1u);
    EXPECT_EQ(snapshot().merges, 0u);
    EXPECT_EQ(snapshot().budget_keys, 1u);
    EXPECT_EQ(snapshot().budget_bytes, 2 * page);
    EXPECT_EQ(snapshot().budget_entries, UINT64_MAX);
}

TEST_F(CCache, IsFoundByTheNumbersOfItsSnapshot)
{
    const mrz_cache_counts first = snapshot();
    make(no_options());
    EXPECT_EQ(snapshot().number, first.number + 1);
    mrz_domain_counts counts{};
    counts.struct_size = sizeof counts;
    ASSERT_EQ(mrz_domain_snapshot(domain(), &counts), 0) << mrz_last_error();
    EXPECT_EQ(snapshot().domain, counts.number);
}

TEST_F(CCache, NothingIsMergedIfThatIsSaid)
{
    mrz_cache_options options = no_options();
    for (const std::uint64_t up_to : {std::uint64_t{0}, MRZ_MERGE_NOTHING}) {
        options.merge_up_to = up_to;
        make(options);
        const std::array<mrz_lease_request, 2> requests{
            {{.address = memory(), .length = page, .access = 0, .reserved = 0},
             {.address = memory() + page, .length = page, .access = 0, .reserved = 0}}};
        std::array<mrz_lease, 2> leases{};
        ASSERT_EQ(mrz_lease_acquire_all(cache_, requests.data(), requests.size(), leases.data()), 0);
        EXPECT_EQ(leases[0].lkey.value == leases[1].lkey.value, up_to == 0);
        for (mrz_lease& one : leases)
            mrz_lease_release(&one);
    }
}

TEST_F(CCache, IsWatchedIfThatIsSaid)
{
    MRZ_REQUIRE(may_watch(), "userfaultfd(2) is not allowed");
    mrz_cache_options options = no_options();
    for (const std::uint32_t watch : {MRZ_WATCH_AUTOMATIC, MRZ_WATCH_USERFAULTFD, MRZ_WATCH_NONE}) {
        options.watch = watch;
        make(options);
        EXPECT_EQ(snapshot().watched, watch == MRZ_WATCH_NONE ? 0U : 1U);
        lease_and_release(0, page);
        EXPECT_EQ(snapshot().unkept, 0U);
    }
}

TEST_F(CCache, OptionsOutOfTheirRangeOrOfANewerLibraryAreRefused)
{
    mrz_cache* refused = reinterpret_cast<mrz_cache*>(8);
    mrz_cache_options options = no_options();
    options.keys = (std::uint64_t{1} << 20) + 1;
    EXPECT_EQ(mrz_cache_create(domain(), &options, &refused), -EINVAL);
    EXPECT_EQ(refused, nullptr);
    EXPECT_THAT(mrz_last_error(), HasSubstr("1,048,576"));
    struct {
        mrz_cache_options known = no_options();
        std::uint64_t unknown = 1;
    } newer;
    newer.known.struct_size = sizeof newer;
    EXPECT_EQ(mrz_cache_create(domain(), &newer.known, &refused), -E2BIG);
    options = no_options();
    options.watch = 7;
    EXPECT_EQ(mrz_cache_create(domain(), &options, &refused), -EINVAL);
    EXPECT_THAT(mrz_last_error(), HasSubstr("no watch 7"));
    options = no_options();
    options.reserved = 1;
    EXPECT_EQ(mrz_cache_create(domain(), &options, &refused), -EINVAL);
    options = {};
    EXPECT_EQ(mrz_cache_create(domain(), &options, &refused), -EINVAL) << "struct_size was not set";
}

TEST_F(CCache, AnOlderCallersSnapshotIsFilledNoFurtherThanItGoes)
{
    lease_and_release(0, page);
    std::array<unsigned char, sizeof(mrz_cache_counts)> bytes{};
    bytes.fill(0x5a);
    const std::size_t size = offsetof(mrz_cache_counts, evictions);
    std::memcpy(bytes.data(), &size, sizeof size);
    ASSERT_EQ(mrz_cache_snapshot(cache_, reinterpret_cast<mrz_cache_counts*>(bytes.data())), 0) << mrz_last_error();
    std::uint64_t misses = 0;
    std::memcpy(&misses, bytes.data() + offsetof(mrz_cache_counts, misses), sizeof misses);
    EXPECT_EQ(misses, 1u);
    for (std::size_t i = size; i < bytes.size(); ++i)
        ASSERT_EQ(bytes[i], 0x5a) << "byte " << i;
}

TEST_F(CCache, BadArgumentsAreRefusedAndNullIsDestroyed)
{
    mrz_cache* refused = reinterpret_cast<mrz_cache*>(8);
    EXPECT_EQ(mrz_cache_create(nullptr, nullptr, &refused), -EINVAL);
    EXPECT_EQ(refused, nullptr);
    EXPECT_EQ(mrz_cache_create(domain(), nullptr, nullptr), -EINVAL);
    mrz_lease none{};
    none.length = 9;
    EXPECT_EQ(mrz_lease_acquire(nullptr, memory(), page, 0, &none), -EINVAL);
    EXPECT_TRUE(all_zero(none));
    EXPECT_EQ(mrz_lease_acquire(cache_, memory(), page, 0, nullptr), -EINVAL);
    EXPECT_EQ(mrz_lease_acquire(cache_, memory(), page, 0x100, &none), -EINVAL);
    EXPECT_EQ(mrz_lease_acquire(cache_, nullptr, page, 0, &none), -EFAULT) << mrz_last_error();
    EXPECT_EQ(mrz_lease_acquire(cache_, memory(), page, MRZ_ACCESS_REMOTE_WRITE, &none), -EINVAL);
    EXPECT_EQ(mrz_cache_snapshot(nullptr, nullptr), -EINVAL);
    EXPECT_EQ(mrz_cache_snapshot(cache_, nullptr), -EINVAL);
    EXPECT_EQ(mrz_cache_close(nullptr), -EINVAL);
    EXPECT_EQ(mrz_lease_access(nullptr), 0u);
    EXPECT_EQ(mrz_lease_access(&none), 0u);
    std::uint64_t length = 1;
    EXPECT_EQ(mrz_lease_region(nullptr, &length), nullptr);
    EXPECT_EQ(length, 0u);
    EXPECT_EQ(mrz_lease_region(&none, nullptr), nullptr);
    mrz_lease_release(nullptr);
    mrz_cache_invalidate(nullptr, memory(), page);
    mrz_cache_set_pending(nullptr, 1);
    mrz_cache_destroy(nullptr);
}

TEST_F(CCache, IsNotClosedWhileALeaseLivesWhichMayOutliveIt)
{
    mrz_lease held = lease(0, page);
    EXPECT_EQ(mrz_cache_close(cache_), -EBUSY);
    EXPECT_THAT(mrz_last_error(), HasSubstr("lease"));
    mrz_cache_destroy(cache_);
    cache_ = nullptr;
    EXPECT_EQ(mrz_domain_close(domain()), -EBUSY);
    EXPECT_EQ(mrz_lease_access(&held), static_cast<std::uint32_t>(MRZ_ACCESS_LOCAL_WRITE));
    mrz_lease_release(&held);
    EXPECT_EQ(mrz_domain_close(domain()), 0) << mrz_last_error();
}

TEST_F(CCache, ClosedGivesNoLeases)
{
    lease_and_release(0, page);
    EXPECT_EQ(mrz_cache_close(cache_), 0) << mrz_last_error();
    EXPECT_EQ(mrz_cache_close(cache_), 0) << mrz_last_error();
    mrz_lease none{};
    EXPECT_EQ(mrz_lease_acquire(cache_, memory(), page, 0, &none), -EBADF);
    EXPECT_EQ(mrz_domain_close(domain()), 0) << mrz_last_error();
}

} // namespace
} // namespace mrz::test
