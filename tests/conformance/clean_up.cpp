// SPDX-License-Identifier: BSD-3-Clause
#include "fixture.hpp"

#include <mrzone/host.hpp>

#include <atomic>
#include <cerrno>
#include <optional>
#include <thread>

#include <sys/wait.h>
#include <unistd.h>

namespace mrz::test {
namespace {

class CleanUp : public Conformance {
  protected:
    static std::uint64_t held()
    {
        const host::LockedMemory memory = host::locked_memory();
        return memory.pinned.value_or(0) + memory.locked.value_or(0);
    }
};
MRZ_EVERY_DEVICE(CleanUp);

TEST_P(CleanUp, UnpinsWithTheRegionAndNotBefore)
{
    const std::uint64_t before = held();
    {
        std::optional<Region> whole = domain.register_memory(far_memory.bytes(), all_rights);
        const Region part = domain.register_memory(far_memory.bytes().first(page), Access::local_read);
        EXPECT_GE(held(), before + whole->pinned_bytes());
        whole.reset();
        EXPECT_GE(held(), before + part.pinned_bytes());
        EXPECT_LT(held(), before + far_memory.bytes().size());
    }
    EXPECT_EQ(held(), before);
}

TEST_P(CleanUp, OfOneOfTwoRegionsOverOneRangeLeavesTheOther)
{
    const std::uint64_t before = held();
    {
        std::optional<Region> first = domain.register_memory(far_memory.bytes(), all_rights);
        const Region second = domain.register_memory(far_memory.bytes(), all_rights);
        EXPECT_NE(first->lkey(), second.lkey());
        EXPECT_NE(first->rkey(), second.rkey());
        const std::uint64_t once = second.pinned_bytes();
        EXPECT_EQ(held(), before + (domain.pins_again() ? 2 * once : once));
        first.reset();
        EXPECT_EQ(held(), before + once);
        const Pair pair{domain, domain};
        const Region local = own();
        const Segment room = segment(local, 0, page);
        EXPECT_EQ(pair.status(request(Opcode::rdma_read, room, second.iova(), second.rkey())), WcStatus::success);
        EXPECT_TRUE(same(near_memory.bytes().first(page), far_memory.bytes().first(page)));
    }
    EXPECT_EQ(held(), before);
}

TEST_P(CleanUp, LeavesNothingAfterManyRegions)
{
    const std::uint64_t before = held();
    for (int round = 0; round < 3; ++round) {
        std::vector<Region> regions;
        for (int i = 0; i < 100; ++i)
            regions.push_back(domain.register_memory(far_memory.bytes(), all_rights));
        regions.clear();
        EXPECT_EQ(held(), before);
    }
}

TEST_P(CleanUp, OfADomainIsRefusedWhileSomethingLivesInIt)
{
    Domain own_domain = Domain::open(GetParam());
    std::optional<Region> region = expose(own_domain, all_rights);
    std::unique_ptr<QueuePair> queue_pair = own_domain.create_queue_pair();
    const auto closing = [&] {
        try {
            own_domain.close();
        } catch (const Error& error) {
            return error.error_number();
        }
        return 0;
    };
    EXPECT_EQ(closing(), EBUSY);
    region.reset();
    EXPECT_EQ(closing(), EBUSY);
    queue_pair.reset();
    EXPECT_EQ(closing(), 0);
}

TEST_P(CleanUp, WaitsForWorkThatUsesTheRegion)
{
    // Under a checker of threads or addresses, work that went on after deregistering would be seen.
    const Region local = own();
    for (int round = 0; round < 20; ++round) {
        std::optional<Buffer> memory{std::in_place, 16 * page};
        std::optional<Region> region = domain.register_memory(memory->bytes(), all_rights);
        const Pair pair{domain, domain};
        const Iova at = region->iova();
        const RKey rkey = region->rkey();
        std::atomic<bool> begun = false;
        std::thread writer{[&] {
            const Segment room = segment(local, 0, 8 * page);
            WcStatus status = WcStatus::success;
            while (status == WcStatus::success) {
                status = pair.status(request(Opcode::rdma_write, room, at, rkey));
                begun = true;
            }
            EXPECT_EQ(status, WcStatus::remote_access_error);
        }};
        while (!begun)
            std::this_thread::yield();
        region.reset();
        memory.reset(); // unmapped: work that goes on would be a fault
        writer.join();
    }
}

TEST_P(CleanUp, InAChildOfForkLeavesTheParentAlone)
{
    std::optional<Region> region = expose(domain, all_rights);
    const Region local = own();
    const std::uint64_t pinned = held();
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        region.reset(); // a copy of what is its parent's
        int status = 1;
        try {
            const Domain fresh = Domain::open(GetParam());
            const Region mine = fresh.register_memory(far_memory.bytes().first(page), Access::remote_read);
            const Pair pair{fresh, fresh};
            const Region room_region = fresh.register_memory(near_memory.bytes(), Access::local_write);
            const Segment room = segment(room_region, 0, page);
            if (pair.status(request(Opcode::rdma_read, room, mine.iova(), mine.rkey())) == WcStatus::success &&
                std::equal(near_memory.bytes().begin(), near_memory.bytes().begin() + page,
                           far_memory.bytes().begin()))
                status = 0;
        } catch (const std::exception& error) {
            std::fprintf(stderr, "in the child: %s\n", error.what());
        }
        ::_exit(status);
    }
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    EXPECT_EQ(held(), pinned);
    // The parent's frames are still its own: what is written after the fork is what peers read.
    far_memory.bytes()[margin] = std::byte{0x77};
    const Pair pair{domain, domain};
    const Segment room = segment(local, 0, 1);
    EXPECT_EQ(pair.status(request(Opcode::rdma_read, room, region->iova(), region->rkey())), WcStatus::success);
    EXPECT_EQ(near_memory.bytes()[0], std::byte{0x77});
}

} // namespace
} // namespace mrz::test
