// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Umems and keys from their making to their end, over a libmlx5 that is none.
#include "memory.hpp"

#include "fake_mlx5.hpp"
#include "proposal.hpp"
#include "support/in_child.hpp"
#include "support/mapping.hpp"
#include "support/refusal.hpp"
#include "support/require.hpp"

#include <mrzone/frames.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <map>
#include <optional>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include <sys/mman.h>

namespace mrz::mlx5::test {
namespace {

using mrz::test::Mapping;
using mrz::test::refusal;
using testing::HasSubstr;

constexpr Access all_rights =
    Access::local_write | Access::remote_read | Access::remote_write | Access::remote_atomic;

class Mlx5Memory : public testing::Test {
  protected:
    void SetUp() override
    {
        MRZ_REQUIRE(frames_can_be_read(), "frames are hidden (CAP_SYS_ADMIN)");
        const Capabilities capabilities{.max_indirection = 4, .fixed_buffer_size = true, .log_max_klm_list_size = 16};
        facts = std::make_shared<DomainFacts>(DomainFacts{
            .context = fake_context(), .pd = 1, .capabilities = capabilities, .limits = to_limits(capabilities, {})});
        std::ranges::fill(memory, std::byte{1});
    }
    void TearDown() override
    {
        EXPECT_EQ(fake().umems.size(), 0U);
        EXPECT_EQ(fake().keys.size(), 0U);
        EXPECT_EQ(fake().wrong_order, 0U);
        fake().fault = {};
    }

    [[nodiscard]] static RegisterRequest request_for(std::span<std::byte> part, Access access, Sharing sharing)
    {
        return {.address = part.data(),
                .length = part.size(),
                .iova = Iova{reinterpret_cast<std::uintptr_t>(part.data())},
                .access = access,
                .options = {.sharing = sharing}};
    }
    [[nodiscard]] Proposal proposal_for(const RegisterRequest& request, const Layout& layout) const
    {
        return propose(*facts->pinnings, request, layout, {.iova = request.iova, .indirect = indirect}, facts->limits,
                       {});
    }
    [[nodiscard]] std::unique_ptr<RegisteredMemory> add(std::span<std::byte> part, Access access,
                                                        Sharing sharing = Sharing::similar) const
    {
        RegisterRequest request = request_for(part, access, sharing);
        const Layout layout = read_layout(part, DmaView::frames).value();
        const Proposal proposal = proposal_for(request, layout);
        request.plan = &proposal.plan;
        request.basis = proposal.basis;
        return register_memory(facts, request);
    }

    //! Of those from now on that make something; 0: none.
    static void refuse_call(unsigned number)
    {
        fake().calls = 0;
        fake().fault = [number](Call call) {
            return call != Call::end_of_key && fake().calls == number ? ENOMEM : 0;
        };
    }

    const Mapping mapping{256_KiB};
    const std::span<std::byte> memory = mapping.bytes();
    std::shared_ptr<DomainFacts> facts;
    bool indirect = true; //!< Whether plans may have keys over others, and so several umems.
};

TEST_F(Mlx5Memory, IsPinnedUntilTheLastRegionOverItEnds)
{
    // One umem, whatever the frames are.
    const std::span<std::byte> page = memory.first(4096);
    auto first = add(page, Access::local_read);
    auto second = add(page, all_rights);
    EXPECT_EQ(fake().umems.size(), 1U);
    EXPECT_EQ(fake().keys.size(), 3U);
    first.reset();
    EXPECT_EQ(fake().umems.size(), 1U);
    second.reset();
    EXPECT_EQ(fake().umems.size(), 0U);
    // And whoever comes then pins it anew.
    const auto third = add(page, Access::local_read);
    EXPECT_EQ(fake().umems.size(), 1U);
}

TEST_F(Mlx5Memory, IsSharedWhereThatKeepsNotMuchMorePinned)
{
    indirect = false;
    const std::span<std::byte> pages = memory.first(64_KiB);
    const auto whole = add(pages, Access::local_write);
    ASSERT_EQ(fake().umems.size(), 1U);
    const auto umems_of = [&](std::span<std::byte> part, Sharing sharing) {
        const auto registered = add(part, Access::local_write, sharing);
        return fake().umems.size();
    };
    // The longer one begins before others that are nearer, and too short.
    const auto near = add(pages.subspan(60_KiB - 8, 16), Access::local_write, Sharing::similar);
    ASSERT_EQ(fake().umems.size(), 2U);
    for (const std::span<std::byte> part : {pages.first(32_KiB), pages.last(32_KiB), pages.subspan(5, 32_KiB)})
        EXPECT_EQ(umems_of(part, Sharing::similar), 2U);
    for (const std::span<std::byte> part : {pages.first(32_KiB - 1), pages.last(32_KiB - 1), pages.first(1)}) {
        EXPECT_EQ(umems_of(part, Sharing::similar), 3U);
        EXPECT_EQ(umems_of(part, Sharing::always), 2U);
    }
    EXPECT_EQ(umems_of(pages, Sharing::never), 3U);
    EXPECT_EQ(umems_of(memory.first(64_KiB + 1), Sharing::always), 3U) << "a byte of it is not pinned";
}

TEST_F(Mlx5Memory, InAChildOfForkIsLeftAlone)
{
    auto first = add(memory.first(4096), all_rights);
    auto second = add(memory.first(4096), Access::local_read);
    mrz::test::in_child([&] {
        first.reset();
        second.reset();
        facts.reset();
        EXPECT_EQ(fake().umems.size(), 1U);
        EXPECT_EQ(fake().keys.size(), 3U);
    });
}

//! Two umems, two keys over them, and two over these.
TEST_F(Mlx5Memory, LeavesNothingWhereverRegisteringFails)
{
    const Layout layout = read_layout(memory, DmaView::frames).value();
    const std::array pieces{UmemPiece{.offset = 0, .length = 64_KiB},
                            UmemPiece{.offset = 64_KiB, .length = memory.size() - 64_KiB}};
    RegisterRequest request = request_for(memory, all_rights, Sharing::similar);
    const std::optional<Plan> plan = plan_over(pieces, layout, request.iova, {}, facts->limits);
    ASSERT_TRUE(plan && plan->indirect);
    request.plan = &*plan;
    constexpr unsigned calls = 6;
    for (unsigned failing = 1; failing <= calls; ++failing) {
        SCOPED_TRACE(failing);
        refuse_call(failing);
        const Error error = refusal([&] { static_cast<void>(register_memory(facts, request)); });
        EXPECT_EQ(error.error_number(), ENOMEM) << error.what();
        EXPECT_EQ(fake().umems.size(), 0U);
        EXPECT_EQ(fake().keys.size(), 0U);
        EXPECT_FALSE(proposal_for(request, layout).basis) << "of what is not pinned";
    }
    refuse_call(0);
    const auto registered = register_memory(facts, request);
    EXPECT_EQ(fake().calls, calls);
    EXPECT_EQ(fake().umems.size(), 2U);
    // Over what these have pinned no umem is made, and if that fails all of it stays.
    const Proposal shared = proposal_for(request, layout);
    ASSERT_TRUE(shared.basis);
    refuse_call(3);
    request.plan = &shared.plan;
    request.basis = shared.basis;
    static_cast<void>(refusal([&] { static_cast<void>(register_memory(facts, request)); }));
    EXPECT_EQ(fake().umems.size(), 2U);
    EXPECT_EQ(fake().keys.size(), 4U);
}

TEST_F(Mlx5Memory, ThatAControlGroupRefusesIsToldSo)
{
    for (const Call failing : {Call::umem, Call::key}) {
        fake().fault = [&](Call call) { return call == failing ? EAGAIN : 0; };
        const Error error = refusal([&] { static_cast<void>(add(memory.first(4096), all_rights)); });
        EXPECT_EQ(error.error_number(), EAGAIN);
        EXPECT_EQ(error.cause().trouble, Trouble::cgroup) << error.what();
        EXPECT_THAT(error.cause().limit, HasSubstr("hca_object"));
        fake().fault = {};
    }
}

//! As where pages are collapsed into a hugepage, or moved where they lie side by side, while they are pinned.
TEST_F(Mlx5Memory, IsRegisteredAsPlannedWhereLargerPagesHaveCome)
{
    const Mapping room{4_MiB};
    const auto address = reinterpret_cast<std::uintptr_t>(room.bytes().data());
    const std::span<std::byte> large = room.bytes().subspan((2_MiB - address % 2_MiB) % 2_MiB, 2_MiB);
    ::madvise(large.data(), large.size(), MADV_HUGEPAGE);
    std::ranges::fill(large, std::byte{1});
    const Layout layout = read_layout(large, DmaView::frames).value();
    MRZ_REQUIRE(layout.extents().size() == 1, "no transparent hugepage is to be had");
    Limits small = facts->limits;
    small.max_page_shift = PageShift{12};
    RegisterRequest request = request_for(large, Access::local_read, Sharing::never);
    const Plan plan = make_plan(layout, request.iova, small);
    request.plan = &plan;
    const auto registered = register_memory(facts, request);
    ASSERT_EQ(fake().umems.size(), 1U);
    EXPECT_EQ((*fake().umems.begin())->page_sizes, 4096U);
    // But not where there are smaller ones.
    const Plan too_large = make_plan(layout, request.iova, facts->limits);
    ASSERT_EQ(too_large.keys.front().page_shift, PageShift{21});
    ASSERT_EQ(::madvise(large.data(), large.size(), MADV_DONTNEED), 0);
    ::madvise(large.data(), large.size(), MADV_NOHUGEPAGE);
    for (std::size_t at = large.size(); at > 0; at -= 4096)
        large[at - 1] = std::byte{1};
    request.plan = &too_large;
    const Error error = refusal([&] { static_cast<void>(register_memory(facts, request)); });
    EXPECT_EQ(error.error_number(), ESTALE) << error.what();
    EXPECT_THAT(error.cause().limit, HasSubstr("what fitted pages of 2 MiB fits no larger pages than"));
}

TEST_F(Mlx5Memory, KeepsItsKeyWhereItCannotBeTakenBack)
{
    const auto registered = add(memory.first(4096), Access::remote_read);
    const RKey old = registered->rkey();
    for (const Call failing : {Call::key, Call::end_of_key}) {
        bool failed = false; // once: then what was made in vain can go
        fake().fault = [&](Call call) { return call == failing && !std::exchange(failed, true) ? EIO : 0; };
        const Error error = refusal([&] { registered->reissue(); });
        EXPECT_EQ(error.error_number(), EIO) << error.what();
        EXPECT_EQ(registered->rkey(), old);
        EXPECT_EQ(fake().keys.size(), 2U);
        fake().fault = {};
    }
    EXPECT_NE(registered->reissue().value & 0xff, old.value & 0xff);
    EXPECT_EQ(fake().keys.size(), 2U);
}

TEST_F(Mlx5Memory, IsNotSharedOnceOtherMemoryIsThere)
{
    const std::span<std::byte> page = memory.first(4096);
    const auto before = add(page, all_rights);
    // The fake pins nothing, so another mapping keeps the old frame from being taken again.
    ASSERT_NE(
        ::mremap(page.data(), page.size(), page.size(), MREMAP_MAYMOVE | MREMAP_FIXED, memory.last(4096).data()),
        MAP_FAILED);
    ASSERT_EQ(
        ::mmap(page.data(), page.size(), PROT_READ | PROT_WRITE, MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
        page.data());
    page.front() = std::byte{2};
    const auto after = add(page, all_rights);
    EXPECT_EQ(fake().umems.size(), 2U);
}

//! All is pinned for writing, whoever asks first: that must not outlive the right to write.
TEST_F(Mlx5Memory, IsNotSharedForWritingOnceItMayOnlyBeRead)
{
    const std::span<std::byte> page = memory.first(4096);
    const auto before = add(page, Access::local_read);
    ASSERT_EQ(::mprotect(page.data(), page.size(), PROT_READ), 0);
    const Error error = refusal([&] { static_cast<void>(add(page, Access::local_write)); });
    EXPECT_EQ(error.error_number(), EFAULT);
    EXPECT_EQ(error.cause().trouble, Trouble::permission) << error.what();
    const auto reader = add(page, Access::remote_read);
    EXPECT_EQ(fake().umems.size(), 1U);
    ASSERT_EQ(::mprotect(page.data(), page.size(), PROT_READ | PROT_WRITE), 0);
    const auto writer = add(page, Access::local_write);
    EXPECT_EQ(fake().umems.size(), 1U);
}

TEST_F(Mlx5Memory, OfTheOtherWayIsRefusedForTheReasonThatThereIs)
{
    RegisterRequest request = request_for(memory, Access::local_read, Sharing::similar);
    request.options.way = Way::memory_region;
    const Layout layout = read_layout(memory, DmaView::frames).value();
    const Error error = refusal([&] {
        static_cast<void>(propose(*facts->pinnings, request, layout,
                                  {.iova = request.iova, .weights = {.mtt = ~std::uint64_t{0} / 2}}, facts->limits,
                                  {}));
    });
    EXPECT_THAT(error.cause().limit, HasSubstr("weights")) << error.what();
}

//! Regions of random parts of memory, that begin and end within pages or not, at iovas of their own, alone or over
//! what others have pinned: every byte is found, by both keys, where it is, and none besides.
TEST_F(Mlx5Memory, IsReachedByteForByte)
{
    std::mt19937_64 random{9};
    const auto below = [&](std::uint64_t bound) { return random() % bound; };
    const Mapping large{4_MiB};
    ::madvise(large.bytes().data(), large.bytes().size(), MADV_HUGEPAGE); // some large pages, if there are any
    // And small ones out of order.
    std::ranges::fill(large.bytes().last(3_MiB), std::byte{1});
    const std::span<std::byte> small = large.bytes().first(256_KiB);
    ::madvise(small.data(), small.size(), MADV_NOHUGEPAGE);
    for (std::size_t page = 0; page < 64; ++page)
        small[page * 37 % 64 * 4096] = std::byte{1};
    std::ranges::fill(large.bytes(), std::byte{1});

    std::vector<std::unique_ptr<RegisteredMemory>> held;
    unsigned shared = 0;
    std::map<std::optional<IndirectKind>, unsigned> kinds;
    for (int round = 0; round < 1500; ++round) {
        const std::span<std::byte> all = below(2) == 0 ? small : large.bytes();
        const std::uint64_t grain = std::array{1U, 64U, 4096U, 65536U}[below(4)];
        const std::size_t begin = below(all.size()) / grain * grain;
        const std::size_t length =
            std::clamp<std::size_t>((1 + below(all.size())) / grain * grain, 1, all.size() - begin);
        const std::span<std::byte> part = all.subspan(begin, length);
        RegisterRequest request =
            request_for(part, all_rights, std::array{Sharing::never, Sharing::similar, Sharing::always}[below(3)]);
        if (below(2) == 0)
            request.iova = Iova{(below(1U << 20) << 12) + request.iova.value() % 4096};
        const Layout layout = read_layout(part, DmaView::frames).value();
        PlanOptions options{.iova = request.iova};
        if (below(2) == 0)
            options.weights = {.mtt = 4, .mkey = 1, .indirect = 1};
        const Proposal proposal = propose(*facts->pinnings, request, layout, options, facts->limits, {});
        request.plan = &proposal.plan;
        request.basis = proposal.basis;
        const auto& registered = held.emplace_back(register_memory(facts, request));
        shared += proposal.basis ? 1 : 0;
        ++kinds[proposal.plan.indirect ? std::optional{proposal.plan.indirect->kind} : std::nullopt];
        for (int look = 0; look < 12; ++look) {
            const std::size_t offset = look == 0 ? 0 : look == 1 ? length - 1 : below(length);
            for (const std::uint32_t key : {registered->lkey().value, registered->rkey().value})
                ASSERT_EQ(reach(key, request.iova.value() + offset), &part[offset])
                    << "round " << round << ", " << proposal.plan.explain();
        }
        for (const std::uint32_t key : {registered->lkey().value, registered->rkey().value}) {
            EXPECT_EQ(reach(key, request.iova.value() + length), nullptr);
            EXPECT_EQ(reach(key, request.iova.value() - 1), nullptr);
        }
        if (held.size() > 12)
            held.erase(held.begin() + static_cast<std::ptrdiff_t>(below(held.size())));
    }
    EXPECT_GT(shared, 20U);
    EXPECT_GT(kinds[std::nullopt], 20U);
    EXPECT_GT(kinds[IndirectKind::klm], 20U);
}

TEST_F(Mlx5Memory, IsSharedByThreadsThatComeAndGo)
{
    const auto work = [this](unsigned seed) {
        std::optional<std::unique_ptr<RegisteredMemory>> held;
        for (unsigned i = 0; i < 400; ++i) {
            const std::size_t begin = (seed + i) % 4 * 4096;
            held = add(memory.subspan(begin, 4096 * (1 + i % 3)), i % 2 == 0 ? all_rights : Access::local_read);
            if (i % 3 == 0)
                held.reset();
            else if (i % 2 == 0)
                (*held)->reissue();
        }
    };
    std::vector<std::jthread> threads;
    for (unsigned seed = 0; seed < 4; ++seed)
        threads.emplace_back(work, seed);
}

} // namespace
} // namespace mrz::mlx5::test
