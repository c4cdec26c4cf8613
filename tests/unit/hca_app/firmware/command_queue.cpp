// SPDX-License-Identifier: BSD-3-Clause
#include "firmware/command_queue.hpp"

#include "harness.hpp"

#include <atomic>
#include <vector>

using namespace mrz;
using namespace mrz::firmware;
using namespace mrz::firmware::test;

namespace {

namespace l = mrz::layouts;
namespace entry = mrz::layouts::cmd_queue_entry;
namespace box = mrz::layouts::cmd_if_box;

constexpr std::uint64_t queue_at = 0x2000;
constexpr std::uint64_t boxes_at = 0x10000;
constexpr std::uint64_t box_step = 1024;

class Events final : public CommandEvents {
  public:
    [[nodiscard]] bool wanted() const override { return there; }
    void commands_done(std::uint32_t slots) override { told.push_back(slots); }
    std::atomic<bool> there = true;
    std::vector<std::uint32_t> told;
};

class TheCommandQueue : public testing::Test {
  protected:
    TheCommandQueue()
    {
        set_log_sink([](Severity, std::string_view) {});
        // Answers with its input, each byte plus one.
        commands_.add({0x1, "ECHO", 16, 16, [this](const Command& command) {
                           ++runs_;
                           for (std::size_t i = 16; i < std::min(command.in.size(), command.out.size()); ++i)
                               command.out[i] = static_cast<std::byte>(std::to_integer<unsigned>(command.in[i]) + 1);
                       }});
        commands_.add({0x2, "MAKE_EVENTS", 16, 16, [this](const Command&) { events_.there = true; }});
        commands_.add({0x3, "END_EVENTS", 16, 16, [this](const Command&) { events_.there = false; }});
    }
    ~TheCommandQueue() override { set_log_sink({}); }

    static std::uint64_t box_at(std::size_t number) { return boxes_at + box_step * number; }

    //! Mailboxes from \p first on, in a chain.
    void chain(std::size_t first, std::size_t count, std::uint8_t token)
    {
        for (std::size_t i = 0; i < count; ++i) {
            const auto bytes = memory_.at(box_at(first + i), box::bytes);
            const std::uint64_t next = i + 1 < count ? box_at(first + i + 1) : 0;
            l::set(bytes, box::next_pointer_63_32, next >> 32);
            l::set(bytes, box::next_pointer_31_10, next >> 10);
            l::set(bytes, box::block_number, i);
            l::set(bytes, box::token, token);
        }
    }
    //! A command in a slot, its mailboxes chained: inputs from 0, outputs from 32 on.
    std::span<std::byte> place(unsigned slot, std::uint16_t opcode, std::size_t in, std::size_t out)
    {
        const auto bytes = memory_.at(queue_at + 64 * slot, 64);
        std::ranges::fill(bytes, std::byte{});
        constexpr std::uint8_t token = 0x77;
        chain(0, 32, token);
        chain(32, 32, token);
        l::set(bytes, entry::type, 7);
        l::set(bytes, entry::token, token);
        l::set(bytes, entry::input_length, in);
        l::set(bytes, entry::output_length, out);
        if (in > 16)
            l::set(bytes, entry::input_mailbox_pointer_31_9, box_at(0) >> 9);
        if (out > 16)
            l::set(bytes, entry::output_mailbox_pointer_31_9, box_at(32) >> 9);
        l::set(bytes, entry::ownership, 1);
        l::set(l::part(bytes, entry::command_input_inline_data), l::command_in::opcode, opcode);
        return bytes;
    }
    Delivery deliver(unsigned slot)
    {
        queue_.ring(DmaAddress{queue_at}, 1U << slot);
        queue_.wait();
        const auto bytes = memory_.at(queue_at + 64 * slot, 64);
        EXPECT_EQ(l::get(bytes, entry::ownership), 0U);
        return static_cast<Delivery>(l::get(bytes, entry::status));
    }
    Status status(unsigned slot)
    {
        return static_cast<Status>(
            l::get(l::part(memory_.at(queue_at + 64 * slot, 64), entry::command_output_inline_data),
                   l::command_out::status));
    }

    PlainMemory memory_{1U << 20};
    Commands commands_;
    Events events_;
    std::atomic<unsigned> runs_ = 0;
    CommandQueue queue_{memory_, commands_, &events_, 6};
};

TEST_F(TheCommandQueue, GathersMailboxesAndFillsThem)
{
    (void)place(3, 0x1, 16 + 512 + 10, 16 + 512 + 10);
    std::ranges::fill(memory_.at(box_at(0), 512), std::byte{4});
    std::ranges::fill(memory_.at(box_at(1), 512), std::byte{9});
    EXPECT_EQ(deliver(3), Delivery::ok);
    EXPECT_EQ(status(3), Status::ok);
    EXPECT_EQ(memory_.at(box_at(32), 512)[511], std::byte{5});
    EXPECT_EQ(memory_.at(box_at(33), 512)[9], std::byte{10});
    EXPECT_EQ(memory_.at(box_at(33), 512)[10], std::byte{}) << "beyond the output";
    EXPECT_EQ(events_.told, std::vector<std::uint32_t>{1U << 3});
}

TEST_F(TheCommandQueue, DoesEverySlotThatWasRungFor)
{
    for (const unsigned slot : {0U, 5U, 31U})
        (void)place(slot, 0x1, 16, 16);
    queue_.ring(DmaAddress{queue_at}, 1U | 1U << 5 | 1U << 31);
    queue_.wait();
    EXPECT_EQ(runs_, 3U);
}

TEST_F(TheCommandQueue, RefusedCommandsAreDelivered)
{
    (void)place(0, 0x99, 16, 16);
    EXPECT_EQ(deliver(0), Delivery::ok);
    EXPECT_EQ(status(0), Status::bad_op);
}

TEST_F(TheCommandQueue, LeavesWhatIsTheDrivers)
{
    const auto bytes = place(0, 0x1, 16, 16);
    l::set(bytes, entry::ownership, 0);
    queue_.ring(DmaAddress{queue_at}, 1);
    queue_.wait();
    EXPECT_EQ(runs_, 0U);
    EXPECT_TRUE(events_.told.empty());
}

TEST_F(TheCommandQueue, TellsNothingOfTheCommandThatMakesOrEndsItsEvents)
{
    events_.there = false;
    (void)place(0, 0x2, 16, 16);
    EXPECT_EQ(deliver(0), Delivery::ok);
    EXPECT_TRUE(events_.told.empty());
    (void)place(0, 0x1, 16, 16);
    EXPECT_EQ(deliver(0), Delivery::ok);
    EXPECT_EQ(events_.told.size(), 1U);
    (void)place(0, 0x3, 16, 16);
    EXPECT_EQ(deliver(0), Delivery::ok);
    EXPECT_EQ(events_.told.size(), 1U);
}

TEST_F(TheCommandQueue, BrokenEntriesEndWithADeliveryStatus)
{
    l::set(place(0, 0x1, 16, 16), entry::type, 6);
    EXPECT_EQ(deliver(0), Delivery::descriptor_error);
    (void)place(0, 0x1, 7, 16);
    EXPECT_EQ(deliver(0), Delivery::input_length_error);
    (void)place(0, 0x1, 0xffffffff, 16);
    EXPECT_EQ(deliver(0), Delivery::input_length_error);
    (void)place(0, 0x1, 16, 3);
    EXPECT_EQ(deliver(0), Delivery::output_length_error);
    (void)place(0, 0x1, 16, 0xffffffff);
    EXPECT_EQ(deliver(0), Delivery::output_length_error);
    EXPECT_EQ(runs_, 0U);
}

TEST_F(TheCommandQueue, BrokenChainsEndWithADeliveryStatus)
{
    constexpr std::size_t long_in = 16 + 512 * 4;
    (void)place(0, 0x1, long_in, 16);
    l::set(memory_.at(box_at(2), box::bytes), box::token, 1);
    EXPECT_EQ(deliver(0), Delivery::token_error);

    (void)place(0, 0x1, long_in, 16);
    l::set(memory_.at(box_at(2), box::bytes), box::block_number, 7);
    EXPECT_EQ(deliver(0), Delivery::bad_block_number);

    (void)place(0, 0x1, long_in, 16); // back to its beginning
    l::set(memory_.at(box_at(1), box::bytes), box::next_pointer_31_10, box_at(0) >> 10);
    EXPECT_EQ(deliver(0), Delivery::bad_block_number);

    (void)place(0, 0x1, long_in, 16); // shorter than the input
    l::set(memory_.at(box_at(1), box::bytes), box::next_pointer_31_10, 0);
    EXPECT_EQ(deliver(0), Delivery::input_length_error);

    (void)place(0, 0x1, long_in, 16); // to where there is no memory
    l::set(memory_.at(box_at(1), box::bytes), box::next_pointer_63_32, 1);
    EXPECT_EQ(deliver(0), Delivery::input_pointer_error);

    (void)place(0, 0x1, 16, long_in);
    l::set(memory_.at(box_at(33), box::bytes), box::next_pointer_31_10, 0);
    EXPECT_EQ(deliver(0), Delivery::output_length_error);
    (void)place(0, 0x1, 16, long_in);
    l::set(memory_.at(box_at(33), box::bytes), box::next_pointer_63_32, 1);
    EXPECT_EQ(deliver(0), Delivery::output_pointer_error);
    EXPECT_EQ(runs_, 0U) << "a command whose answer has no place is not carried out";
}

TEST_F(TheCommandQueue, OutsideOfMemoryIsNotTouched)
{
    queue_.ring(DmaAddress{0xffff'ffff'ffff'f000}, 0xffffffff);
    queue_.wait();
    queue_.ring(DmaAddress{0}, 0xffffffff);
    queue_.wait();
    EXPECT_EQ(runs_, 0U);
}

TEST_F(TheCommandQueue, DroppedCommandsAreNotCarriedOut)
{
    for (unsigned slot = 0; slot < 32; ++slot)
        (void)place(slot, 0x1, 16, 16);
    queue_.between([&] {});
    queue_.ring(DmaAddress{queue_at}, 0xffffffff);
    queue_.drop();
    const unsigned runs = runs_;
    EXPECT_LE(runs, 32U);
    queue_.wait();
    EXPECT_EQ(runs_, runs);
}

class Segment : public TheFirmware {
  protected:
    std::uint32_t read(std::uint64_t offset)
    {
        std::array<std::byte, 4> bytes{};
        firmware_.read(offset, bytes);
        return static_cast<std::uint32_t>(l::get(bytes, {0, 32}));
    }
    void write(std::uint64_t offset, std::uint32_t value)
    {
        std::array<std::byte, 4> bytes{};
        l::set(bytes, {0, 32}, value);
        firmware_.write(offset, bytes);
    }
};

TEST_F(Segment, TellsWhatTheDriverNeedsToBegin)
{
    EXPECT_EQ(read(0x4) >> 16, 5U) << "the command interface";
    EXPECT_EQ(read(0x14) & 0xff, 0x56U) << "slots and their size";
    EXPECT_EQ(read(0x1fc) >> 31, 0U) << "initializing";
    EXPECT_NE(read(0x230), 0xffffffffU);
    EXPECT_NE(read(0x1010), read(0x1010)) << "a sign of life";
    std::array<std::byte, 1> byte{};
    firmware_.read(0x5, byte);
    EXPECT_EQ(byte[0], std::byte{5}) << "single bytes";
    std::array<std::byte, 8> two{};
    firmware_.read(0x0, two);
    EXPECT_EQ(l::get(two, {0, 32}), read(0));
    EXPECT_EQ(l::get(two, {32, 32}), read(4));
}

TEST_F(Segment, HasATimerOfNanoseconds)
{
    const std::uint64_t before = std::uint64_t{read(0x1000)} << 32 | read(0x1004);
    std::uint64_t after = before;
    while (after == before)
        after = std::uint64_t{read(0x1000)} << 32 | read(0x1004);
    EXPECT_GT(after, before);
}

TEST_F(Segment, RingsForACommandAndTurnsOff)
{
    firmware_.start(nullptr);
    const auto bytes = memory_.at(queue_at + 64, 64);
    const auto send = [&](std::uint16_t opcode) {
        std::ranges::fill(bytes, std::byte{});
        l::set(bytes, entry::type, 7);
        l::set(bytes, entry::input_length, 16);
        l::set(bytes, entry::output_length, 16);
        l::set(bytes, entry::ownership, 1);
        l::set(l::part(bytes, entry::command_input_inline_data), l::command_in::opcode, opcode);
        write(0x18, 1U << 1);
        firmware_.wait();
        return static_cast<Status>(l::get(l::part(bytes, entry::command_output_inline_data), l::command_out::status));
    };
    write(0x10, 0);
    write(0x14, queue_at);
    EXPECT_EQ(send(0x104), Status::ok);
    EXPECT_EQ(send(0x102), Status::ok);
    EXPECT_EQ(send(0x800), Status::ok);
    EXPECT_EQ(l::get(bytes, entry::ownership), 0U);
    EXPECT_EQ(firmware_.context().objects.count(), 1U);

    write(0x14, queue_at | 7U << 8); // a reset by software
    EXPECT_EQ(read(0x14) >> 8 & 7, 1U) << "it has ended";
    EXPECT_EQ(firmware_.context().objects.count(), 0U);
    EXPECT_EQ(send(0x104), Status::ok) << "nobody hears: the answer is the one before";
    EXPECT_EQ(l::get(bytes, entry::ownership), 1U);
    write(0x14, queue_at);
    EXPECT_EQ(send(0x104), Status::ok);
    EXPECT_EQ(l::get(bytes, entry::ownership), 0U);
}

TEST_F(Segment, TakesAnyAccess)
{
    std::array<std::byte, 64> bytes{};
    for (std::uint64_t offset = 0; offset < InitializationSegment::bytes; offset += 13) {
        firmware_.read(offset, std::span{bytes}.first(offset % 64 + 1));
        if (offset > 0x20)
            firmware_.write(offset, std::span{bytes}.first(offset % 64 + 1));
    }
    EXPECT_EQ(read(0x14) & 0xff, 0x56U);
}

} // namespace
