// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Regions that come and go on one thread while others post on queue pairs of their own. Meant for ThreadSanitizer
//! too: work that went on after deregistering would race with what the owner then does with the memory.
#include "fixture.hpp"

#include <atomic>
#include <mutex>
#include <optional>
#include <thread>

namespace mrz::test {
namespace {

//! What a peer was told last.
struct Offer {
    Iova iova = {};
    RKey rkey = {};
    std::uint64_t generation = 0;
};

class Threads : public Conformance {
  protected:
    static constexpr std::size_t posters = 2;
    static constexpr std::size_t slice = 2 * page; // of the far memory, a poster
    static constexpr int generations = 200;

    static std::byte fill_of(std::uint64_t generation) { return static_cast<std::byte>(0x80 | generation); }

    void tell(const Region& region, std::uint64_t generation)
    {
        const std::scoped_lock guard{mutex_};
        offer_ = {region.iova(), region.rkey(), generation};
    }
    Offer told()
    {
        const std::scoped_lock guard{mutex_};
        return offer_;
    }

    //! Writes to its slice and reads it back until told to stop. Each generation of the region begins filled with a
    //! byte that no poster writes.
    void post(std::size_t poster)
    {
        const Buffer memory{2 * slice};
        const Region local = domain.register_memory(memory.bytes(), Access::local_write);
        const auto sent = memory.bytes().first(slice);
        const auto got = memory.bytes().last(slice);
        const std::vector<std::byte> untouched(slice, std::byte{0xff});
        std::optional<Pair> pair{std::in_place, domain, domain};
        std::byte value{0};
        while (!stop_) {
            const Offer offer = told();
            const Iova at = offer.iova + poster * slice + 5;
            const std::size_t length = quirks.long_reads_never_end ? 1000 : slice - 10;
            value = static_cast<std::byte>((static_cast<unsigned>(value) + 1) % 0x80);
            std::ranges::fill(sent, value);
            std::ranges::fill(got, std::byte{0xff});
            const Segment from = segment(local, 0, length);
            const Segment to = segment(local, slice, length);
            WcStatus status = pair->status(request(Opcode::rdma_write, from, at, offer.rkey));
            if (status == WcStatus::success) {
                status = pair->status(request(Opcode::rdma_read, to, at, offer.rkey));
                if (status == WcStatus::success) {
                    // One key is one generation: nobody else can have written meanwhile.
                    ASSERT_TRUE(same(got.first(length), sent.first(length)));
                    ++good_;
                    continue;
                }
            }
            ASSERT_EQ(status, WcStatus::remote_access_error);
            ASSERT_TRUE(same(got, untouched));
            ++refused_;
            pair.emplace(domain, domain);
        }
    }

    std::mutex mutex_;
    Offer offer_;
    std::atomic<bool> stop_ = false;
    std::atomic<int> good_ = 0;
    std::atomic<int> refused_ = 0;
};
MRZ_EVERY_DEVICE(Threads);

TEST_P(Threads, PostWhileRegionsComeAndGo)
{
    const Buffer memory{posters * slice};
    std::vector<std::thread> threads;
    std::optional<Region> region = domain.register_memory(memory.bytes(), all_rights);
    tell(*region, 0);
    for (std::size_t poster = 0; poster < posters; ++poster)
        threads.emplace_back([this, poster] { post(poster); });
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds{60};
    for (std::uint64_t generation = 1;; ++generation) {
        // Let some work be done under each key, as long as the posters have not failed.
        const int before = good_;
        while (good_ < before + 2 && !HasFailure() && std::chrono::steady_clock::now() < deadline)
            std::this_thread::yield();
        region.reset();
        // The memory is its owner's alone now. A poster that got through would be seen here, or by a sanitizer.
        const std::vector<std::byte> fresh(memory.bytes().size(), fill_of(generation));
        std::memcpy(memory.bytes().data(), fresh.data(), fresh.size());
        if (generation % 4 == 0)
            std::this_thread::yield();
        EXPECT_TRUE(same(memory.bytes(), fresh));
        if ((generation >= generations && refused_ > 0) || HasFailure() ||
            std::chrono::steady_clock::now() >= deadline)
            break;
        region = domain.register_memory(memory.bytes(), all_rights);
        tell(*region, generation);
    }
    stop_ = true;
    for (std::thread& thread : threads)
        thread.join();
    EXPECT_GT(good_, 0);
    EXPECT_GT(refused_, 0);
}

} // namespace
} // namespace mrz::test
