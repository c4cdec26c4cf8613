// SPDX-License-Identifier: BSD-3-Clause
#include "guest.hpp"

namespace mrz::queues {
namespace {

using layouts::EventType;

class EventQueuesTest : public ::testing::Test {
  protected:
    static constexpr EventMask commands_only{1ULL << static_cast<unsigned>(EventType::command), 0, 0, 0};

    Bytes data(std::uint32_t value)
    {
        Bytes bytes(layouts::eqe_cmd::bytes);
        layouts::set(bytes, layouts::eqe_cmd::vector, value);
        return bytes;
    }
    static std::uint64_t value_of(const Bytes& event)
    {
        return layouts::get(layouts::part(std::span{event}, layouts::eqe::data), layouts::eqe_cmd::vector);
    }

    GuestMemory memory;
    CountedInterrupts interrupts;
    EventQueues queues;
};

TEST_F(EventQueuesTest, AreTakenInOrderOverSeveralRounds)
{
    DriverEq eq{memory, interrupts, queues, 1, 2, commands_only};
    for (std::uint32_t i = 0; i < 4 * 5 + 3; ++i) {
        EXPECT_FALSE(eq.next()) << "event " << i << " is not there yet";
        queues.post(EventType::command, 0, data(i));
        const auto event = eq.next();
        ASSERT_TRUE(event) << "event " << i;
        EXPECT_EQ(value_of(*event), i);
        eq.consumed(false);
    }
}

TEST_F(EventQueuesTest, GoToThoseThatAreForThem)
{
    DriverEq commands{memory, interrupts, queues, 1, 3, commands_only};
    DriverEq nothing{memory, interrupts, queues, 2, 3, {}};
    queues.post(EventType::command, 3, data(1));
    queues.post(EventType::port_change, 0, data(2));
    const auto event = commands.next();
    ASSERT_TRUE(event);
    EXPECT_EQ(field(*event, layouts::eqe::type), 0xau);
    EXPECT_EQ(field(*event, layouts::eqe::sub_type), 3u);
    EXPECT_FALSE(commands.next());
    EXPECT_FALSE(nothing.next());
}

TEST_F(EventQueuesTest, InterruptOnceForEachArming)
{
    DriverEq eq{memory, interrupts, queues, 1, 3, commands_only, 5};
    queues.post(EventType::command, 0, data(1));
    EXPECT_EQ(interrupts.raised[5], 0u) << "it was not armed";
    eq.consumed(true);
    EXPECT_EQ(interrupts.raised[5], 1u) << "an event is there already";
    ASSERT_TRUE(eq.next());
    eq.consumed(true);
    EXPECT_EQ(interrupts.raised[5], 1u);
    queues.post(EventType::command, 0, data(2));
    queues.post(EventType::command, 0, data(3));
    EXPECT_EQ(interrupts.raised[5], 2u);
}

TEST_F(EventQueuesTest, LoseWhatTheyHaveNoRoomForAndGoOn)
{
    DriverEq eq{memory, interrupts, queues, 1, 2, commands_only};
    for (std::uint32_t i = 0; i < 6; ++i)
        queues.post(EventType::command, 0, data(i));
    EXPECT_EQ(eq.queue->state().lost, 2u);
    for (std::uint32_t i = 0; i < 4; ++i)
        EXPECT_EQ(value_of(*eq.next()), i);
    EXPECT_FALSE(eq.next());
    eq.consumed(false);
    queues.post(EventType::command, 0, data(9));
    EXPECT_EQ(value_of(*eq.next()), 9u);
}

TEST_F(EventQueuesTest, DoNotBelieveThatMoreWasTakenThanWasThere)
{
    DriverEq eq{memory, interrupts, queues, 1, 2, commands_only};
    queues.post(EventType::command, 0, data(1));
    eq.queue->consumed(5, false);
    EXPECT_EQ(eq.queue->state().consumer_index, 0u);
}

TEST_F(EventQueuesTest, LoseEventsWhenTheirMemoryIsGone)
{
    DriverEq eq{memory, interrupts, queues, 1, 2, commands_only};
    memory.punch(0, 1U << 20);
    queues.post(EventType::command, 0, data(1));
    EXPECT_EQ(eq.queue->state().lost, 1u);
    EXPECT_EQ(eq.queue->state().producer_index, 0u);
}

} // namespace
} // namespace mrz::queues
