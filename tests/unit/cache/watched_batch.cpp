// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Batches of memory that goes away.
#include "watched.hpp"

#include <utility>
#include <vector>

#include <sys/shm.h>

namespace mrz::test {
namespace {

class WatchedBatch : public WatchedMemory {
  protected:
    std::vector<LKey> keys_of(std::initializer_list<std::span<std::byte>> ranges)
    {
        std::vector<LeaseRequest> requests;
        for (const std::span<std::byte> range : ranges)
            requests.push_back({range});
        std::vector<LKey> keys;
        for (const Lease& lease : cache->lease_all(requests))
            keys.push_back(lease.lkey());
        return keys;
    }
    void replace(std::span<std::byte> bytes)
    {
        munmap(bytes.data(), bytes.size());
        map_again(bytes);
    }
};

TEST_F(WatchedBatch, IsForgottenRegionByRegion)
{
    const std::vector<LKey> before = keys_of({at(3), at(5), at(40)});
    replace(at(5));
    const std::vector<LKey> after = keys_of({at(3), at(5), at(40)});
    EXPECT_EQ(after[0], before[0]);
    EXPECT_NE(after[1], before[1]);
    EXPECT_EQ(after[2], before[2]);
    EXPECT_EQ(keys_of({at(3), at(5), at(40)}), after);
}

TEST_F(WatchedBatch, ThatWasMergedIsForgottenAsOne)
{
    cache.emplace(*domain, CacheOptions{.watch = Watch::userfaultfd});
    const std::vector<LKey> before = keys_of({at(3), at(4)});
    ASSERT_EQ(before[0], before[1]);
    replace(at(4));
    EXPECT_NE(key_of(at(3)), before[0]);
    EXPECT_NE(key_of(at(4)), before[0]);
}

TEST_F(WatchedBatch, OfWhichAPartGoesWhileItIsRegisteredIsKeptWithoutThatPart)
{
    bool first = true;
    script().on_register = [&](const RegisterRequest&) {
        if (std::exchange(first, false))
            replace(at(5));
    };
    const std::vector<LKey> before = keys_of({at(3), at(5), at(40)});
    const std::vector<LKey> after = keys_of({at(3), at(5), at(40)});
    EXPECT_EQ(after[0], before[0]);
    EXPECT_NE(after[1], before[1]);
    EXPECT_EQ(after[2], before[2]);
}

TEST_F(WatchedBatch, OfWhichAPartCannotBeWatchedIsKeptWithoutThatPart)
{
    const int id = shmget(IPC_PRIVATE, page, 0600);
    ASSERT_GE(id, 0);
    void* const shared = shmat(id, nullptr, 0);
    shmctl(id, IPC_RMID, nullptr);
    ASSERT_NE(shared, reinterpret_cast<void*>(-1));
    const std::span bytes{static_cast<std::byte*>(shared), page};
    const std::vector<LKey> before = keys_of({at(3), bytes});
    EXPECT_EQ(cache->snapshot().unkept, 1u);
    const std::vector<LKey> after = keys_of({at(3), bytes});
    EXPECT_EQ(after[0], before[0]);
    EXPECT_NE(after[1], before[1]);
    shmdt(shared);
}

TEST_F(WatchedBatch, OfWhichAPartIsNotThereLeavesNothing)
{
    munmap(at(5).data(), page);
    EXPECT_THROW(keys_of({at(3), at(5), at(40)}), Error);
    EXPECT_EQ(cache->snapshot().regions, 0u);
    EXPECT_EQ(script().registered, 0);
    map_again(at(5));
    EXPECT_EQ(keys_of({at(3), at(5), at(40)}), keys_of({at(3), at(5), at(40)}));
}

} // namespace
} // namespace mrz::test
