// SPDX-License-Identifier: BSD-3-Clause
#include "guest.hpp"

namespace mrz::queues {
namespace {

using layouts::CqeOpcode;
using layouts::CqeSyndrome;
using layouts::EventType;
using layouts::WqeOpcode;
using namespace std::chrono_literals;

//! Two queue pairs with rings of 8 blocks and 4 receives, and one completion queue of 16.
class DataPathOperations : public DataPathTest {
  protected:
    DataPathOperations()
    {
        cqn = make_cq(cq);
        lkey = make_buffer(buffer, 1);
        peer_key = make_buffer(peer_buffer, 101);
        alice.number = path.create_qp(alice.options(QpKind::rc, pd, cqn));
        bob.number = path.create_qp(bob.options(QpKind::rc, pd, cqn));
        connect(alice.number, bob.number);
        connect(bob.number, alice.number);
        work();
    }
    Bytes bytes(std::uint64_t at, std::size_t count)
    {
        const auto there = memory.at(at, count);
        return {there.begin(), there.end()};
    }
    //! The next completion, which has to be a sender's that went well.
    Bytes sent(std::uint16_t entry, WqeOpcode wanted)
    {
        const auto completion = cq.next();
        EXPECT_TRUE(completion);
        if (!completion)
            return Bytes(64);
        EXPECT_EQ(opcode(*completion), CqeOpcode::req);
        EXPECT_EQ(field(*completion, layouts::cqe64::wqe_counter), entry);
        EXPECT_EQ(field(*completion, layouts::cqe64::s_wqe_opcode), static_cast<unsigned>(wanted));
        EXPECT_EQ(field(*completion, layouts::cqe64::qpn), alice.number);
        EXPECT_EQ(field(*completion, layouts::cqe64::srqn), 0x1234u) << "the user's index";
        return *completion;
    }
    Bytes write_entry(std::uint32_t count, bool signaled = true)
    {
        Bytes entry;
        append_control(entry, WqeOpcode::rdma_write, signaled);
        append_remote(entry, peer_buffer, peer_key);
        append_piece(entry, buffer, count, lkey);
        return ended(entry);
    }

    DriverCq cq{memory, 4};
    std::uint32_t cqn = 0;
    DriverQp alice{memory, 3, 2};
    DriverQp bob{memory, 3, 2};
    std::uint64_t buffer = 0;
    std::uint64_t peer_buffer = 0;
    std::uint32_t lkey = 0;
    std::uint32_t peer_key = 0;
};

TEST_F(DataPathOperations, WriteIntoThePeersMemory)
{
    const Bytes expected = bytes(buffer, 5000);
    post(alice, write_entry(5000));
    work();
    sent(0, WqeOpcode::rdma_write);
    EXPECT_FALSE(cq.next());
    EXPECT_EQ(bytes(peer_buffer, 5000), expected);
}

TEST_F(DataPathOperations, ReadFromThePeersMemoryIntoTwoPieces)
{
    const Bytes expected = bytes(peer_buffer + 10, 300);
    Bytes entry;
    append_control(entry, WqeOpcode::rdma_read);
    append_remote(entry, peer_buffer + 10, peer_key);
    append_piece(entry, buffer, 100, lkey);
    append_piece(entry, buffer + 4000, 200, lkey);
    post(alice, ended(entry));
    work();
    EXPECT_EQ(field(sent(0, WqeOpcode::rdma_read), layouts::cqe64::byte_cnt), 300u);
    EXPECT_TRUE(std::equal(expected.begin(), expected.begin() + 100, bytes(buffer, 100).begin()));
    EXPECT_TRUE(std::equal(expected.begin() + 100, expected.end(), bytes(buffer + 4000, 200).begin()));
}

TEST_F(DataPathOperations, SendWithImmediateDataInline)
{
    const Bytes message = bytes(buffer, 90);
    bob.receive(peer_buffer, 4096, peer_key);
    Bytes entry;
    append_control(entry, WqeOpcode::send_imm, false, 0xdeadbeef, layouts::wqe_solicited);
    append_inline(entry, message);
    post(alice, ended(entry));
    work();
    const auto received = cq.next();
    ASSERT_TRUE(received);
    EXPECT_EQ(opcode(*received), CqeOpcode::resp_send_imm);
    EXPECT_EQ(field(*received, layouts::cqe64::immediate), 0xdeadbeefu);
    EXPECT_EQ(field(*received, layouts::cqe64::byte_cnt), 90u);
    EXPECT_EQ(field(*received, layouts::cqe64::qpn), bob.number);
    EXPECT_EQ(field(*received, layouts::cqe64::wqe_counter), 0u);
    EXPECT_FALSE(cq.next()) << "the send was not to be signaled";
    EXPECT_EQ(bytes(peer_buffer, 90), message);
}

TEST_F(DataPathOperations, WriteWithImmediateTakesAReceive)
{
    bob.receive(peer_buffer, 0, peer_key);
    Bytes entry;
    append_control(entry, WqeOpcode::rdma_write_imm, true, 5);
    append_remote(entry, peer_buffer + 64, peer_key);
    append_piece(entry, buffer, 16, lkey);
    post(alice, ended(entry));
    work();
    const auto received = cq.next();
    ASSERT_TRUE(received);
    EXPECT_EQ(opcode(*received), CqeOpcode::resp_wr_imm);
    EXPECT_EQ(field(*received, layouts::cqe64::byte_cnt), 16u);
    sent(0, WqeOpcode::rdma_write_imm);
    EXPECT_EQ(bytes(peer_buffer + 64, 16), bytes(buffer, 16));
}

TEST_F(DataPathOperations, DoAtomics)
{
    const auto word_at = [this](std::uint64_t at) {
        std::uint64_t word = 0;
        std::memcpy(&word, memory.at(at, 8).data(), 8);
        return word;
    };
    const std::uint64_t before = word_at(peer_buffer);
    Bytes add;
    append_control(add, WqeOpcode::atomic_fa);
    append_remote(add, peer_buffer, peer_key);
    append(add, {{layouts::wqe_atomic_seg::swap_add, 5}}, 16);
    append_piece(add, buffer, 8, lkey);
    post(alice, ended(add));
    Bytes swap;
    append_control(swap, WqeOpcode::atomic_cs);
    append_remote(swap, peer_buffer, peer_key);
    append(swap, {{layouts::wqe_atomic_seg::swap_add, 77}, {layouts::wqe_atomic_seg::compare, before + 5}}, 16);
    append_piece(swap, buffer + 8, 8, lkey);
    post(alice, ended(swap));
    work();
    sent(0, WqeOpcode::atomic_fa);
    sent(1, WqeOpcode::atomic_cs);
    EXPECT_EQ(word_at(buffer), before);
    EXPECT_EQ(word_at(buffer + 8), before + 5);
    EXPECT_EQ(word_at(peer_buffer), 77u);
}

TEST_F(DataPathOperations, CountOnOverTheEndsOfTheirRings)
{
    // Entries of one, two and three blocks; more of them than 2^16 blocks, so that the counter begins anew, too.
    const Bytes message = bytes(buffer, 150);
    for (std::uint32_t i = 0; i < 33000; ++i) {
        bob.receive(peer_buffer, 4096, peer_key);
        Bytes entry;
        append_control(entry, WqeOpcode::send, i % 2 == 0);
        append_inline(entry, std::span{message}.first(20 + i % 3 * 60));
        const std::uint16_t at = post(alice, ended(entry));
        work();
        const auto received = cq.next();
        ASSERT_TRUE(received);
        ASSERT_EQ(opcode(*received), CqeOpcode::resp_send);
        ASSERT_EQ(field(*received, layouts::cqe64::wqe_counter), i & 0xffff);
        ASSERT_EQ(field(*received, layouts::cqe64::byte_cnt), 20 + i % 3 * 60);
        if (i % 2 == 0) {
            sent(at, WqeOpcode::send);
        }
        ASSERT_FALSE(cq.next());
        ASSERT_FALSE(HasFailure());
    }
}

TEST_F(DataPathOperations, TakeSeveralEntriesWithOneDoorbell)
{
    for (std::uint32_t i = 0; i < 8; ++i)
        alice.write(write_entry(i + 1, i == 7));
    alice.tell_sends();
    work();
    EXPECT_FALSE(cq.next()) << "nobody has rung";
    ring(alice);
    work();
    sent(7, WqeOpcode::rdma_write);
    EXPECT_FALSE(cq.next());
}

TEST_F(DataPathOperations, AnswerNothingWithACompletion)
{
    Bytes entry;
    append_control(entry, WqeOpcode::nop);
    post(alice, ended(entry));
    work();
    sent(0, WqeOpcode::nop);
}

TEST_F(DataPathOperations, HearNoDoorbellInAPageThatIsNotTheirs)
{
    alice.write(write_entry(8));
    alice.tell_sends();
    ring(alice, DriverQp::uar + 1);
    work();
    EXPECT_FALSE(cq.next());
    ring(alice);
    work();
    sent(0, WqeOpcode::rdma_write);
}

TEST_F(DataPathOperations, BeginWhenTheyAreReady)
{
    DriverQp early{memory, 3, 2};
    early.number = path.create_qp(early.options(QpKind::rc, pd, cqn));
    Bytes entry;
    append_control(entry, WqeOpcode::nop);
    post(early, ended(entry));
    work();
    EXPECT_FALSE(cq.next());
    connect(early.number, bob.number);
    work();
    EXPECT_TRUE(cq.next());
}

TEST_F(DataPathOperations, TellOfCompletionsByEvents)
{
    arm(cq, cqn, 0);
    post(alice, write_entry(8));
    work();
    const auto event = eq.next();
    ASSERT_TRUE(event);
    EXPECT_EQ(type(*event), EventType::completion);
    EXPECT_FALSE(eq.next());
    sent(0, WqeOpcode::rdma_write);
}

TEST_F(DataPathOperations, WakeASolicitedOnlyWaiterForSolicitedMessagesOnly)
{
    bob.receive(peer_buffer, 4096, peer_key);
    bob.receive(peer_buffer, 4096, peer_key);
    arm(cq, cqn, 0, true);
    work();
    for (const unsigned flags : {0U, layouts::wqe_solicited}) {
        Bytes entry;
        append_control(entry, WqeOpcode::send, false, 0, flags);
        append_piece(entry, buffer, 8, lkey);
        post(alice, ended(entry));
        work();
        EXPECT_EQ(eq.next().has_value(), flags != 0);
    }
}

TEST_F(DataPathOperations, KeepOnWhileTheirCompletionQueueMoves)
{
    post(alice, write_entry(8));
    work();
    DriverCq old = cq;
    path.with_cq(cqn, [&](CompletionRing& ring) { ASSERT_TRUE(ring.resize(cq.move_to(2))); });
    post(alice, write_entry(9));
    work();
    ASSERT_TRUE(old.next());
    ASSERT_EQ(opcode(*old.peek(1)), CqeOpcode::resize_cq);
    cq.consumer = 2;
    sent(1, WqeOpcode::rdma_write);
}

TEST_F(DataPathOperations, SendDatagrams)
{
    DriverQp from{memory, 3, 2};
    DriverQp to{memory, 3, 2};
    for (DriverQp* const qp : {&from, &to}) {
        qp->number = path.create_qp(qp->options(QpKind::ud, pd, cqn));
        hca::QpAttributes init;
        init.qkey = 0x11;
        path.modify_qp(qp->number, hca::QpState::init, init);
        path.modify_qp(qp->number, hca::QpState::rtr, {});
        hca::QpAttributes rts;
        rts.send_psn = 0;
        path.modify_qp(qp->number, hca::QpState::rts, rts);
    }
    to.receive(peer_buffer, 4096, peer_key);
    namespace av = layouts::av;
    Bytes entry;
    append_control(entry, WqeOpcode::send_imm, true, 9);
    append(entry, {{av::qkey, 0x11}, {av::extended, 1}, {av::dqp_dct, to.number}, {av::rlid, 7}}, av::bytes);
    append_piece(entry, buffer, 30, lkey);
    post(from, ended(entry));
    work();
    const auto received = cq.next();
    ASSERT_TRUE(received);
    EXPECT_EQ(opcode(*received), CqeOpcode::resp_send_imm);
    EXPECT_EQ(field(*received, layouts::cqe64::byte_cnt), 70u) << "with room for a header";
    EXPECT_EQ(field(*received, layouts::cqe64::rqpn), from.number);
    EXPECT_EQ(field(*received, layouts::cqe64::slid), 7u);
    EXPECT_EQ(bytes(peer_buffer + 40, 30), bytes(buffer, 30));
    EXPECT_TRUE(cq.next()) << "the sender's";

    layouts::set(entry, layouts::shifted(av::qkey, 16), 0x12);
    to.receive(peer_buffer, 4096, peer_key);
    post(from, ended(entry));
    work();
    const auto sent_only = cq.next();
    ASSERT_TRUE(sent_only);
    EXPECT_EQ(opcode(*sent_only), CqeOpcode::req) << "who does not know the queue key does not get through";
    EXPECT_FALSE(cq.next());
}

} // namespace
} // namespace mrz::queues
