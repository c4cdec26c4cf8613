// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Movable keys over a libmlx5 that is none.
#include "movable_key.hpp"

#include "fake_mlx5.hpp"
#include "fake_requests.hpp"
#include "support/allocations.hpp"
#include "support/mapping.hpp"
#include "support/refusal.hpp"
#include "support/require.hpp"

#include <mrzone/frames.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace mrz::mlx5::test {
namespace {

using mrz::test::Mapping;
using mrz::test::refusal;
using testing::HasSubstr;

class Mlx5MovableKey : public testing::Test {
  protected:
    void SetUp() override
    {
        MRZ_REQUIRE(frames_can_be_read(), "frames are hidden (CAP_SYS_ADMIN)");
        fake_requests() = {};
        std::ranges::fill(memory, std::byte{1});
        RegisterRequest request{
            .address = memory.data(), .length = memory.size(), .iova = begin(0), .access = Access::local_write};
        const Plan plan = make_plan(read_layout(memory, DmaView::frames).value(), request.iova, facts->limits);
        request.plan = &plan;
        region = register_memory(facts, request);
    }
    void TearDown() override
    {
        requester.reset();
        region.reset();
        EXPECT_EQ(fake_requests().queue_pairs, 0U);
        EXPECT_EQ(fake_requests().peer_access, 0U) << "its queue pair is nobody's way in";
        EXPECT_EQ(fake().umems.size(), 0U);
        EXPECT_EQ(fake().keys.size(), 0U);
        EXPECT_EQ(fake().wrong_order, 0U);
        fake().fault = {};
        fake_requests() = {};
    }

    [[nodiscard]] Iova begin(std::size_t offset) const
    {
        return Iova{reinterpret_cast<std::uintptr_t>(memory.data()) + offset};
    }
    [[nodiscard]] std::unique_ptr<MovableRKey> make() const
    {
        fake_requests().small_fence_suffices = facts->capabilities.small_fence_suffices;
        return create_movable_key(facts, requester, Access::remote_read, 4);
    }
    RKey lead(MovableRKey& key, std::size_t offset) const
    {
        const KeyPart part{.lkey = region->lkey(), .iova = begin(offset), .length = 64};
        return key.lead_to(begin(offset), {&part, 1});
    }
    [[nodiscard]] std::byte* reached(RKey key, std::size_t offset) const
    {
        return reach(key.value, begin(offset).value());
    }

    const Mapping mapping{4 * 4096};
    const std::span<std::byte> memory = mapping.bytes();
    const Capabilities capabilities{
        .max_indirection = 4, .log_max_klm_list_size = 16, .requests_change_indirect_keys = true};
    const std::shared_ptr<verbs::Pd> pd = fake_pd();
    const std::shared_ptr<DomainFacts> facts = std::make_shared<DomainFacts>(DomainFacts{
        .context = pd->context(), .pd = 1, .capabilities = capabilities, .limits = to_limits(capabilities, {})});
    std::shared_ptr<Requester> requester = std::make_shared<Requester>(pd, std::chrono::milliseconds{5});
    std::unique_ptr<RegisteredMemory> region;
};

TEST_F(Mlx5MovableKey, LeadsWhereItWasLedLast)
{
    const auto key = make();
    const RKey first = lead(*key, 100);
    EXPECT_EQ(reached(first, 100), &memory[100]);
    EXPECT_EQ(reached(first, 163), &memory[163]);
    EXPECT_EQ(reached(first, 164), nullptr);
    EXPECT_EQ(reached(first, 99), nullptr);
    const std::array parts{KeyPart{region->lkey(), begin(5000), 10}, KeyPart{region->lkey(), begin(300), 7}};
    const RKey second = key->lead_to(begin(5000), parts);
    EXPECT_EQ(reached(first, 100), nullptr);
    EXPECT_EQ(reached(second, 100), nullptr);
    EXPECT_EQ(reached(second, 5009), &memory[5009]);
    EXPECT_EQ(reached(second, 5010), &memory[300]);
    EXPECT_EQ(reached(second, 5017), nullptr);
    key->lead_nowhere();
    EXPECT_EQ(reached(second, 5000), nullptr);
    const int freed = static_cast<int>(fake_requests().freed);
    key->lead_nowhere();
    EXPECT_EQ(fake_requests().freed, static_cast<unsigned>(freed));
    EXPECT_EQ(reached(lead(*key, 0), 0), &memory[0]);
}

//! An adapter that does not say otherwise needs a strong fence between taking back and filling.
TEST_F(Mlx5MovableKey, IsTakenBackBeforeItIsFilled)
{
    for (const bool small : {false, true}) {
        facts->capabilities.small_fence_suffices = small;
        const auto key = make();
        const RKey first = lead(*key, 0);
        const RKey second = lead(*key, 64);
        EXPECT_EQ(first.value >> 8, second.value >> 8);
        EXPECT_EQ(reached(first, 0), nullptr);
        EXPECT_EQ(reached(second, 64), &memory[64]);
    }
}

TEST_F(Mlx5MovableKey, IsMadeAnewAfterARequestThatFailed)
{
    const auto key = make();
    const RKey before = lead(*key, 0);
    fake_requests().fault = [] { return IBV_WC_LOC_QP_OP_ERR; };
    const Error error = refusal([&] { static_cast<void>(lead(*key, 64)); });
    EXPECT_EQ(error.error_number(), EIO);
    EXPECT_EQ(reached(before, 0), nullptr);
    EXPECT_EQ(fake().keys.size(), 1U) << "only the region's is left";
    fake_requests().fault = {};
    EXPECT_EQ(reached(lead(*key, 64), 64), &memory[64]);
    // What cannot be led nowhere ends.
    const RKey last = lead(*key, 128);
    fake_requests().fault = [] { return IBV_WC_LOC_QP_OP_ERR; };
    key->lead_nowhere();
    EXPECT_EQ(reached(last, 128), nullptr);
    EXPECT_EQ(fake().keys.size(), 1U);
}

//! Firmware may give the next key the index of the one before.
TEST_F(Mlx5MovableKey, HasAnotherRkeyEvenIfItIsMadeAnewUnderTheSameIndex)
{
    const auto key = make();
    const std::uint32_t numbers = fake().numbers;
    set_log_sink([](Severity, std::string_view) {});
    for (int round = 0; round < 3000; ++round) {
        const RKey before = lead(*key, 0);
        fake_requests().fault = [] { return IBV_WC_LOC_QP_OP_ERR; };
        key->lead_nowhere();
        fake_requests().fault = {};
        fake().numbers = numbers - 1;
        const RKey after = lead(*key, 64);
        ASSERT_EQ(after.value >> 8, numbers);
        ASSERT_NE(after, before) << "round " << round;
    }
    set_log_sink({});
}

//! A thread that was stopped for longer than that finds the request done.
TEST_F(Mlx5MovableKey, IsLookedAtOnceMoreWhenTheTimeIsUp)
{
    const auto key = make();
    bool stopped = false;
    fake_requests().seen = [&] {
        if (std::exchange(stopped, true))
            return true;
        std::this_thread::sleep_for(std::chrono::milliseconds{20});
        return false;
    };
    EXPECT_EQ(reached(lead(*key, 0), 0), &memory[0]);
    fake_requests().seen = [] { return false; };
    const Error error = refusal([&] { static_cast<void>(lead(*key, 64)); });
    EXPECT_THAT(error.cause().limit, HasSubstr("did not tell that it was done within 5 ms"));
    fake_requests().seen = {};
}

//! Each allocation fails once while a request does, or is late: the next takes its end for none of its own.
TEST_F(Mlx5MovableKey, TakesNoEndOfARequestForThatOfAnother)
{
    const auto key = make();
    unsigned failed = 0;
    for (bool all = false; !all; ++failed) {
        static_cast<void>(lead(*key, 0));
        fake_requests().seen = [] { return false; };
        mrz::test::allocations_left = failed;
        EXPECT_ANY_THROW(static_cast<void>(lead(*key, 64)));
        all = mrz::test::allocations_left.has_value();
        mrz::test::allocations_left.reset();
        fake_requests().seen = {};
        fake_requests().fault = [] { return IBV_WC_LOC_QP_OP_ERR; };
        EXPECT_EQ(refusal([&] { static_cast<void>(lead(*key, 128)); }).error_number(), EIO)
            << "allocation " << failed;
        fake_requests().fault = {};
    }
    EXPECT_GT(failed, 2U);
}

//! As many keys may lead to a region, and its end is not to wait for each.
TEST_F(Mlx5MovableKey, WaitsForAnAdapterThatServesNoneOnlyOnce)
{
    constexpr std::size_t count = 8;
    std::vector<std::unique_ptr<MovableRKey>> keys;
    std::vector<RKey> rkeys;
    for (std::size_t i = 0; i < count; ++i)
        rkeys.push_back(lead(*keys.emplace_back(make()), i * 64));
    set_log_sink([](Severity, std::string_view) {});
    fake_requests().fault = [] { return IBV_WC_LOC_QP_OP_ERR; }; // so that it has done nothing
    int looks = 0;
    fake_requests().seen = [&] { return ++looks == 0; };
    keys.front()->lead_nowhere();
    const int once = std::exchange(looks, 0);
    EXPECT_GT(once, 0);
    for (const auto& key : keys)
        key->lead_nowhere();
    EXPECT_EQ(looks, 0);
    for (std::size_t i = 0; i < count; ++i)
        EXPECT_EQ(reached(rkeys[i], i * 64), nullptr);
    fake_requests().fault = {};
    fake_requests().seen = {};
    set_log_sink({});
    // Whoever leads a key looks whether it serves again.
    EXPECT_EQ(reached(lead(*keys[1], 0), 0), &memory[0]);
    const unsigned freed = fake_requests().freed;
    keys[1]->lead_nowhere();
    EXPECT_EQ(fake_requests().freed, freed + 1);
}

TEST_F(Mlx5MovableKey, HasABuilderForItsRequestsThoughTheFirstQueuePairWasRefused)
{
    fake_requests().refusals = 1;
    const auto key = make();
    EXPECT_EQ(reached(lead(*key, 0), 0), &memory[0]);
    fake_requests().refusals = 2;
    fake_requests().fault = [] { return IBV_WC_LOC_QP_OP_ERR; };
    key->lead_nowhere();
    fake_requests().fault = {};
    EXPECT_EQ(refusal([&] { static_cast<void>(lead(*key, 0)); }).error_number(), ENOMEM);
    EXPECT_EQ(reached(lead(*key, 0), 0), &memory[0]);
}

//! The queue pair that is there goes on without a port, and none can be made.
TEST_F(Mlx5MovableKey, NeedsAPortOnlyForTheQueuePair)
{
    fake_requests().port_is_down = true;
    EXPECT_EQ(refusal([&] { static_cast<void>(make()); }).error_number(), ENETDOWN);
    fake_requests().port_is_down = false;
    const auto key = make();
    fake_requests().port_is_down = true;
    EXPECT_EQ(reached(lead(*key, 0), 0), &memory[0]);
    fake_requests().fault = [] { return IBV_WC_LOC_QP_OP_ERR; };
    EXPECT_EQ(refusal([&] { static_cast<void>(lead(*key, 64)); }).error_number(), EIO);
    fake_requests().fault = {};
    EXPECT_EQ(refusal([&] { static_cast<void>(lead(*key, 64)); }).error_number(), ENETDOWN);
    EXPECT_EQ(fake().keys.size(), 1U) << "only the region's is left";
    fake_requests().port_is_down = false;
    EXPECT_EQ(reached(lead(*key, 64), 64), &memory[64]);
}

TEST_F(Mlx5MovableKey, LeadsNowhereThoughItCannotBeEnded)
{
    auto key = make();
    const RKey rkey = lead(*key, 0);
    int refused = 0;
    std::byte* reached_at_last = &memory[0];
    fake().fault = [&](Call call) {
        if (call != Call::end_of_key)
            return 0;
        if (refused++ == 0)
            return EBUSY;
        reached_at_last = reached(rkey, 0);
        return 0;
    };
    key.reset();
    fake().fault = {};
    EXPECT_EQ(refused, 2);
    EXPECT_EQ(reached_at_last, nullptr);
}

TEST_F(Mlx5MovableKey, AsksNothingMoreOfAnAdapterThatIsGone)
{
    auto key = make();
    static_cast<void>(lead(*key, 0));
    bool refused = false;
    fake().fault = [&](Call call) { return call == Call::end_of_key && !std::exchange(refused, true) ? EIO : 0; };
    key.reset();
    fake().fault = {};
    EXPECT_TRUE(refused);
    EXPECT_EQ(fake_requests().freed, 0U);
}

TEST_F(Mlx5MovableKey, LeadsNowhereWithoutMemory)
{
    const auto key = make();
    const RKey rkey = lead(*key, 0);
    mrz::test::no_memory = true;
    key->lead_nowhere();
    mrz::test::no_memory = false;
    EXPECT_EQ(reached(rkey, 0), nullptr);
    EXPECT_EQ(reached(lead(*key, 0), 0), &memory[0]);
}

//! Each allocation fails once: the key leads where it did or nowhere, and can be led again.
TEST_F(Mlx5MovableKey, CanBeLedAgainAfterAnyAllocationFailed)
{
    const auto key = make();
    unsigned failed = 0;
    for (bool led = false; !led; ++failed) {
        const RKey before = lead(*key, 0);
        RKey after;
        mrz::test::allocations_left = failed;
        try {
            after = lead(*key, 64);
            led = mrz::test::allocations_left.has_value();
        } catch (const std::bad_alloc&) {
            EXPECT_TRUE(reached(before, 0) == &memory[0] || reached(before, 0) == nullptr);
            EXPECT_EQ(reached(before, 64), nullptr);
        }
        mrz::test::allocations_left.reset();
        EXPECT_EQ(reached(after, 64), led ? &memory[64] : nullptr);
    }
    EXPECT_GT(failed, 2U);
}

} // namespace
} // namespace mrz::mlx5::test
