// SPDX-License-Identifier: BSD-3-Clause
//! A cache over the software adapter: pinned memory, and keys that carry bytes.
#include <mrzone/cache.hpp>
#include <mrzone/host.hpp>

#include "support/require.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <optional>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include <sys/mman.h>
#include <unistd.h>

namespace mrz::test {
namespace {

constexpr std::size_t page = 4096;

std::uint64_t pinned_now()
{
    return host::locked_memory().pinned.value_or(0);
}

class SoftCache : public testing::Test {
  protected:
    static constexpr std::size_t pages = 512;
    void SetUp() override
    {
        void* const mapped = mmap(nullptr, pages * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        ASSERT_NE(mapped, MAP_FAILED);
        memory = {static_cast<std::byte*>(mapped), pages * page};
        madvise(mapped, memory.size(), MADV_NOHUGEPAGE);
        try {
            domain.emplace(Domain::open("soft"));
        } catch (const Error& error) {
            MRZ_REQUIRE(false, error.what());
        }
    }
    void TearDown() override { munmap(memory.data(), memory.size()); }
    [[nodiscard]] std::span<std::byte> at(std::size_t first, std::size_t count = 1) const
    {
        return memory.subspan(first * page, count * page);
    }

    std::span<std::byte> memory;
    std::optional<Domain> domain;
};

TEST_F(SoftCache, PinsWhatIsKeptAndNothingAfterwards)
{
    const std::uint64_t before = pinned_now();
    Cache cache{*domain, {.bytes = 64 * page, .merge_up_to = 0}};
    for (std::size_t i = 0; i < 300; ++i) {
        static_cast<void>(cache.lease(at(i).subspan(7, 9)));
        ASSERT_LE(pinned_now(), before + 64 * page);
    }
    cache.close();
    EXPECT_EQ(pinned_now(), before);
}

TEST_F(SoftCache, ABatchThatFailsPinsNothing)
{
    const std::uint64_t before = pinned_now();
    ASSERT_EQ(mprotect(at(201).data(), page, PROT_READ), 0);
    Cache cache{*domain};
    std::vector<LeaseRequest> requests;
    for (std::size_t i = 1; i < 256; i += 2)
        requests.push_back({at(i)});
    EXPECT_THROW(static_cast<void>(cache.lease_all(requests)), Error);
    EXPECT_EQ(pinned_now(), before);
    EXPECT_EQ(cache.snapshot().keys, 0u);
    requests.erase(requests.begin() + 100);
    EXPECT_EQ(cache.lease_all(requests).size(), 127u);
    EXPECT_EQ(cache.snapshot().bytes, 127 * page);
}

//! Queue pairs that write from a place in memory of its own to wherever a lease is.
class Writer {
  public:
    explicit Writer(const Domain& domain)
        : region_{domain.register_memory(word_)}, left_{domain.create_queue_pair()}, right_{
                                                                                         domain.create_queue_pair()}
    {
        left_->connect(right_->local());
        right_->connect(left_->local());
    }
    void write(const Lease& lease, std::byte value)
    {
        word_.front() = value;
        const Segment segment{region_.iova(), 1, region_.lkey()};
        left_->post_send({.opcode = Opcode::rdma_write,
                          .segments = {&segment, 1},
                          .remote_iova = lease.iova(),
                          .rkey = lease.rkey()});
        std::array<Completion, 1> done;
        while (left_->poll(done) == 0)
            std::this_thread::yield();
        EXPECT_EQ(done[0].status, WcStatus::success);
    }

  private:
    std::array<std::byte, 1> word_ = {};
    Region region_;
    std::unique_ptr<QueuePair> left_;
    std::unique_ptr<QueuePair> right_;
};

TEST_F(SoftCache, MemoryThatWasMovedIsReachedWhereItIsNow)
{
    constexpr Access rights = Access::local_write | Access::remote_write;
    Writer writer{*domain};
    Cache cache{*domain};
    at(3).front() = std::byte{1};
    const Lease old = cache.lease(at(3), rights); // keeps its page, which has moved, registered
    ASSERT_EQ(mremap(at(3).data(), page, page, MREMAP_MAYMOVE | MREMAP_FIXED, at(9).data()), at(9).data());
    ASSERT_EQ(mmap(at(3).data(), page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
              at(3).data());
    const Lease lease = cache.lease(at(9), rights);
    writer.write(lease, std::byte{7});
    EXPECT_EQ(at(9).front(), std::byte{7});
    EXPECT_EQ(at(3).front(), std::byte{0});
}

TEST_F(SoftCache, MemoryThatIsMappedTwiceIsReachedByOneMappingWhenTheOtherIsGone)
{
    constexpr Access rights = Access::local_write | Access::remote_write;
    const int file = memfd_create("twice", MFD_CLOEXEC);
    ASSERT_EQ(ftruncate(file, page), 0);
    Writer writer{*domain};
    for (const auto& [stays, goes] : {std::pair{3, 4}, std::pair{4, 3}}) {
        Cache cache{*domain};
        for (const int i : {3, 4})
            ASSERT_EQ(mmap(at(static_cast<std::size_t>(i)).data(), page, PROT_READ | PROT_WRITE,
                           MAP_SHARED | MAP_FIXED, file, 0),
                      at(static_cast<std::size_t>(i)).data());
        const std::array<Lease, 2> both{cache.lease(at(3), rights), cache.lease(at(4), rights)};
        const auto gone = at(static_cast<std::size_t>(goes));
        ASSERT_EQ(mmap(gone.data(), page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
                  gone.data());
        writer.write(both[static_cast<std::size_t>(stays - 3)], std::byte{7});
        EXPECT_EQ(at(static_cast<std::size_t>(stays)).front(), std::byte{7});
        EXPECT_EQ(gone.front(), std::byte{0});
    }
    close(file);
}

// Bytes go from random places to random places, by leases of all kinds, while others make the cache evict.
TEST_F(SoftCache, KeysCarryTheirBytes)
{
    Cache cache{*domain, {.bytes = 48 * page, .keys = 24}};
    const auto left = domain->create_queue_pair();
    const auto right = domain->create_queue_pair();
    left->connect(right->local());
    right->connect(left->local());
    std::mt19937_64 random{11};
    for (auto& byte : memory)
        byte = static_cast<std::byte>(random());
    for (int i = 0; i < 400; ++i) {
        const std::size_t length = 1 + random() % (3 * page);
        const std::size_t from = random() % (memory.size() / 2 - length);
        const std::size_t to = memory.size() / 2 + random() % (memory.size() / 2 - length);
        const Access remote = Access::local_write | Access::remote_write;
        std::vector<Lease> both = cache.lease_all(std::vector<LeaseRequest>{
            {memory.subspan(from, length), Access::local_read}, {memory.subspan(to, length), remote}});
        const Lease& source = both[0];
        const Lease& target = both[1];
        const Segment segment{source.iova(), static_cast<std::uint32_t>(length), source.lkey()};
        left->post_send({.opcode = Opcode::rdma_write,
                         .segments = {&segment, 1},
                         .remote_iova = target.iova(),
                         .rkey = target.rkey()});
        std::array<Completion, 1> done;
        while (left->poll(done) == 0)
            std::this_thread::yield();
        ASSERT_EQ(done[0].status, WcStatus::success) << i;
        ASSERT_TRUE(std::equal(source.bytes().begin(), source.bytes().end(), target.bytes().begin())) << i;
    }
    EXPECT_GT(cache.snapshot().evictions, 100u);
}

TEST_F(SoftCache, AKeyThatWasGivenUpReachesNothing)
{
    Cache cache{*domain};
    const auto left = domain->create_queue_pair();
    const auto right = domain->create_queue_pair();
    left->connect(right->local());
    right->connect(left->local());
    const Lease target = cache.lease(at(8), Access::local_write | Access::remote_write);
    LKey key;
    {
        const Lease source = cache.lease(at(0));
        key = source.lkey();
        cache.invalidate(at(0));
    }
    while (cache.snapshot().keys > 1)
        std::this_thread::yield();
    const Segment segment{Iova{reinterpret_cast<std::uintptr_t>(at(0).data())}, 64, key};
    left->post_send({.opcode = Opcode::rdma_write,
                     .segments = {&segment, 1},
                     .remote_iova = target.iova(),
                     .rkey = target.rkey()});
    std::array<Completion, 1> done;
    while (left->poll(done) == 0)
        std::this_thread::yield();
    EXPECT_EQ(done[0].status, WcStatus::local_protection_error);
}

// Whether frames can be seen or not: what the planner says of one is what merging is for.
TEST_F(SoftCache, MergesPagesWhereThatSaves)
{
    // Single pages have any frames, but a transparent hugepage is contiguous.
    static constexpr std::size_t huge = 2_MiB;
    void* const mapped = mmap(nullptr, 2 * huge, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(mapped, MAP_FAILED);
    const std::span<std::byte> all{static_cast<std::byte*>(mapped), 2 * huge};
    const std::span<std::byte> whole = all.subspan(-reinterpret_cast<std::uintptr_t>(mapped) % huge, huge);
    madvise(whole.data(), huge, MADV_HUGEPAGE);
    std::ranges::fill(whole, std::byte{1});
    const auto layout = read_layout(whole, domain->dma_view());
    MRZ_REQUIRE(layout && layout->extents().size() == 1, "no transparent hugepage is to be had");
    {
        Cache cache{*domain};
        for (std::size_t i = 0; i < 64; ++i)
            static_cast<void>(cache.lease(whole.subspan(i * page, page)));
        while (cache.snapshot().keys != cache.snapshot().regions)
            std::this_thread::yield();
        EXPECT_GT(cache.snapshot().merges, 0u);
        EXPECT_LE(cache.snapshot().keys, 4u);
        EXPECT_LE(cache.snapshot().entries, 4u);
    }
    munmap(mapped, all.size());
}

} // namespace
} // namespace mrz::test
