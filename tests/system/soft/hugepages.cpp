// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Regions over real hugepages: entries as planned, pins, and memory that is longer than one registered buffer.
#include <mrzone/frames.hpp>
#include <mrzone/host.hpp>
#include <mrzone/hugepage.hpp>
#include <mrzone/region.hpp>

#include "support/in_child.hpp"
#include "support/pool_guard.hpp"
#include "support/require.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <cstring>

#include <sys/mman.h>
#include <unistd.h>

namespace mrz::test {
namespace {

class SoftHugepages : public testing::Test {
  protected:
    void SetUp() override { MRZ_REQUIRE(geteuid() == 0, "needs root, to change a pool and to read frames"); }
};

TEST_F(SoftHugepages, OfAWindowNeedTheEntriesThatItsPlacementPromised)
{
    const PoolGuard guard{2_MiB, 64};
    {
        const Window window = Window::build({.size = 32_MiB});
        const Domain domain = Domain::open("soft");
        ASSERT_EQ(domain.dma_view(), DmaView::frames);
        const std::span<std::byte> block{window.block().data(), window.block().size()};
        const Frames frames = read_frames(block.data(), block.size(), PageShift{21});
        const Plan expected = make_plan(Layout::of_pages(frames.addresses, PageShift{21}),
                                        Iova{reinterpret_cast<std::uintptr_t>(block.data())}, domain.limits());
        const Region region = domain.register_memory(block, Access::remote_read);
        EXPECT_EQ(region.plan().mtt_entries(), expected.mtt_entries());
        ASSERT_TRUE(region.built().has_value());
        EXPECT_EQ(region.built()->front().entries, expected.mtt_entries());
        EXPECT_EQ(region.built()->front().page_shift, expected.keys[0].page_shift);
        EXPECT_GE(region.built()->front().page_shift, PageShift{21});
        EXPECT_GE(host::locked_memory().pinned.value_or(0), 32_MiB);
    }
    EXPECT_EQ(host::locked_memory().pinned, 0U);
    EXPECT_EQ(guard.free(), 64U);
}

TEST_F(SoftHugepages, CarryDataBetweenAWindowAndSmallPages)
{
    const PoolGuard guard{2_MiB, 16};
    const Window window = Window::build({.size = 8_MiB});
    const std::span<std::byte> block{window.block().data(), window.block().size()};
    std::vector<std::byte> small(5_MiB);
    for (std::size_t i = 0; i < small.size(); ++i)
        small[i] = static_cast<std::byte>(i * 13 + i / 255);
    const Domain domain = Domain::open("soft");
    const Region far = domain.register_memory(block, Access::local_write | Access::remote_write);
    const Region near = domain.register_memory(small);
    const auto a = domain.create_queue_pair();
    const auto b = domain.create_queue_pair();
    a->connect(b->local());
    b->connect(a->local());
    const Segment local{near.iova(), static_cast<std::uint32_t>(small.size()), near.lkey()};
    const std::size_t at = 2_MiB - 77;
    a->post_send(
        {.opcode = Opcode::rdma_write, .segments = {&local, 1}, .remote_iova = far.iova() + at, .rkey = far.rkey()});
    Completion done;
    ASSERT_EQ(a->poll({&done, 1}), 1U);
    EXPECT_EQ(done.status, WcStatus::success);
    EXPECT_TRUE(std::ranges::equal(block.subspan(at, small.size()), small));
    EXPECT_EQ(block[at - 1], std::byte{0});
    EXPECT_EQ(block[at + small.size()], std::byte{0});
}

TEST_F(SoftHugepages, MayBeMoreThanOneRegisteredBufferHolds)
{
    const PoolGuard guard{2_MiB, 513};
    void* const memory =
        ::mmap(nullptr, 1_GiB + 2_MiB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);
    ASSERT_NE(memory, MAP_FAILED);
    {
        const Domain domain = Domain::open("soft");
        const Region region = domain.register_memory({static_cast<std::byte*>(memory), 1_GiB + 2_MiB});
        EXPECT_EQ(region.pinned_bytes(), 1_GiB + 2_MiB);
        EXPECT_EQ(host::locked_memory().pinned, 1_GiB + 2_MiB);
    }
    EXPECT_EQ(host::locked_memory().pinned, 0U);
    ::munmap(memory, 1_GiB + 2_MiB);
    EXPECT_EQ(guard.free(), 513U);
}

TEST_F(SoftHugepages, OfAProcessThatIsKilledComeBack)
{
    const PoolGuard guard{2_MiB, 16};
    const pid_t child = start_child([] {
        const Window window = Window::build({.size = 16_MiB});
        const Domain domain = Domain::open("soft");
        const Region region =
            domain.register_memory({window.block().data(), window.block().size()}, Access::remote_read);
        ::raise(SIGKILL);
    });
    EXPECT_TRUE(WIFSIGNALED(wait_for(child)));
    // The kernel takes a ring apart after its process has ended.
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds{20};
    while (guard.free() != 16 && std::chrono::steady_clock::now() < deadline)
        ::sched_yield();
    EXPECT_EQ(guard.free(), 16U);
}

} // namespace
} // namespace mrz::test
