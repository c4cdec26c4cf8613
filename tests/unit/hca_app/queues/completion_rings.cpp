// SPDX-License-Identifier: BSD-3-Clause
#include "guest.hpp"

namespace mrz::queues {
namespace {

using namespace std::chrono_literals;
using layouts::EventType;
using Written = CompletionRing::Written;

class CompletionRings : public ::testing::Test {
  protected:
    void make(unsigned log_size, unsigned log_entry = 6, Moderation moderation = {})
    {
        cq.emplace(memory, log_size, log_entry);
        CompletionRingOptions options = cq->options(eq.queue);
        options.moderation = moderation;
        ring.emplace(memory, 0x42, std::move(options));
    }
    Written write(std::uint32_t value, bool solicited = false)
    {
        Cqe entry{};
        layouts::set(entry, layouts::cqe64::byte_cnt, value);
        return ring->write(entry, solicited, now);
    }
    std::uint64_t next_value()
    {
        const auto entry = cq->next();
        EXPECT_TRUE(entry);
        return entry ? field(*entry, layouts::cqe64::byte_cnt) : ~std::uint64_t{0};
    }
    unsigned events()
    {
        unsigned count = 0;
        while (const auto event = eq.next()) {
            EXPECT_EQ(field(*event, layouts::eqe::type), 0u);
            EXPECT_EQ(layouts::get(layouts::part(std::span{*event}, layouts::eqe::data), layouts::eqe_comp::cqn),
                      0x42u);
            eq.consumed(false);
            ++count;
        }
        return count;
    }

    GuestMemory memory;
    CountedInterrupts interrupts;
    EventQueues queues;
    DriverEq eq{memory, interrupts, queues, 1, 4, {}};
    std::optional<DriverCq> cq;
    std::optional<CompletionRing> ring;
    Clock::time_point now{1h};
};

TEST_F(CompletionRings, AreReadByTheirOwnerBitOverSeveralRounds)
{
    for (const unsigned log_entry : {6U, 7U}) {
        make(2, log_entry);
        for (std::uint32_t i = 0; i < 4 * 7 + 1; i += 3) {
            EXPECT_FALSE(cq->peek(cq->consumer));
            for (std::uint32_t j = 0; j < 3; ++j)
                ASSERT_EQ(write(i + j), Written::stored);
            for (std::uint32_t j = 0; j < 3; ++j)
                EXPECT_EQ(next_value(), i + j);
        }
    }
}

TEST_F(CompletionRings, FailWhenTheGuestIsTooSlow)
{
    make(2);
    for (std::uint32_t i = 0; i < 4; ++i)
        ASSERT_EQ(write(i), Written::stored);
    EXPECT_EQ(write(4), Written::overrun_now);
    EXPECT_EQ(next_value(), 0u);
    EXPECT_EQ(write(5), Written::lost) << "it does not recover";
    EXPECT_TRUE(ring->in_error());
}

TEST_F(CompletionRings, MayIgnoreThatTheyAreFull)
{
    make(2);
    ring->set_ignore_overrun(true);
    for (std::uint32_t i = 0; i < 9; ++i)
        EXPECT_EQ(write(i), Written::stored);
}

TEST_F(CompletionRings, FailWhenTheirMemoryIsGone)
{
    make(2);
    memory.punch(0, 1U << 20);
    EXPECT_EQ(write(0), Written::overrun_now);
}

TEST_F(CompletionRings, TellOfWhatComesAfterArming)
{
    make(4);
    write(1);
    EXPECT_EQ(events(), 0u);
    EXPECT_EQ(next_value(), 1u);
    ring->arm(cq->consumer, 0, false);
    EXPECT_EQ(events(), 0u) << "all that is there was seen";
    write(2);
    write(3);
    EXPECT_EQ(events(), 1u);
    ring->arm(cq->consumer, 1, false);
    EXPECT_EQ(events(), 1u) << "the third was not told of";
    ring->arm(cq->consumer, 2, false);
    EXPECT_EQ(events(), 0u) << "both were told of, though they were not taken";
    write(4);
    EXPECT_EQ(events(), 1u);
}

TEST_F(CompletionRings, TellOnceUnderOneSequenceNumber)
{
    make(4);
    ring->arm(0, 2, false);
    write(1);
    EXPECT_EQ(events(), 1u);
    write(2);
    ring->arm(0, 2, false);
    EXPECT_EQ(events(), 0u) << "the guest has not taken the event yet";
    ring->arm(0, 3, false);
    EXPECT_EQ(events(), 1u);
}

TEST_F(CompletionRings, WaitForSolicitedOnes)
{
    make(4);
    ring->arm(0, 0, true);
    write(1);
    EXPECT_EQ(events(), 0u);
    write(2, true);
    EXPECT_EQ(events(), 1u);
    write(3, true);
    write(4);
    ring->arm(cq->consumer, 1, true);
    EXPECT_EQ(events(), 1u) << "the second solicited one was not told of";
    write(5);
    ring->arm(cq->consumer, 2, true);
    EXPECT_EQ(events(), 0u) << "what was not told of is not solicited";
    ring->arm(cq->consumer, 2, false);
    EXPECT_EQ(events(), 1u);
}

TEST_F(CompletionRings, HoldEventsBackByCountAndTime)
{
    make(4, 6, {3, 100us});
    ring->arm(0, 0, false);
    write(1);
    write(2);
    EXPECT_EQ(events(), 0u);
    write(3);
    EXPECT_EQ(events(), 1u);
    EXPECT_FALSE(ring->deadline());
    while (cq->next())
        ;
    ring->arm(cq->consumer, 1, false);
    write(4);
    ASSERT_TRUE(ring->deadline());
    EXPECT_EQ(*ring->deadline(), now + 100us);
    ring->tick(now + 99us);
    EXPECT_EQ(events(), 0u);
    ring->tick(now + 100us);
    EXPECT_EQ(events(), 1u);
}

// As mlx5_ib's copy_resize_cqes() does it.
TEST_F(CompletionRings, MoveToOtherMemoryAndNothingIsLost)
{
    for (const unsigned log_size : {4U, 2U}) {
        make(3);
        for (std::uint32_t i = 0; i < 13; ++i) {
            write(100 + i);
            EXPECT_EQ(next_value(), 100 + i);
        }
        write(1);
        DriverCq old = *cq;
        ASSERT_TRUE(ring->resize(cq->move_to(log_size)));
        EXPECT_EQ(write(2), Written::stored);
        std::vector<std::uint64_t> seen;
        for (std::uint32_t index = old.consumer;; ++index) {
            const auto entry = old.peek(index);
            ASSERT_TRUE(entry) << "the last entry says that it is";
            if (field(*entry, layouts::cqe64::opcode) == static_cast<unsigned>(layouts::CqeOpcode::resize_cq))
                break;
            seen.push_back(field(*entry, layouts::cqe64::byte_cnt));
        }
        EXPECT_EQ(seen, std::vector<std::uint64_t>{1});
        // What was copied moved up by one, and the entry that says so is taken.
        cq->consumer = old.consumer + 1 + static_cast<std::uint32_t>(seen.size());
        memory.put32(cq->record, cq->consumer);
        EXPECT_EQ(next_value(), 2u);
        EXPECT_FALSE(cq->next());
        write(3);
        EXPECT_EQ(next_value(), 3u);
    }
}

TEST_F(CompletionRings, DoNotMoveWhenTheyAreFull)
{
    make(1);
    write(1);
    write(2);
    EXPECT_FALSE(ring->resize(DriverCq{*cq}.move_to(4)));
    EXPECT_EQ(next_value(), 1u);
}

} // namespace
} // namespace mrz::queues
