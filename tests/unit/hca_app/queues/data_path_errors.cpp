// SPDX-License-Identifier: BSD-3-Clause
#include "guest.hpp"

#include <string>

namespace mrz::queues {
namespace {

using layouts::CqeOpcode;
using layouts::CqeSyndrome;
using layouts::EventType;
using layouts::WqeOpcode;
using namespace std::chrono_literals;

class DataPathErrors : public DataPathTest {
  protected:
    DataPathErrors()
    {
        cqn = make_cq(cq);
        lkey = make_buffer(buffer, 1);
        alice.number = path.create_qp(alice.options(QpKind::rc, pd, cqn));
        bob.number = path.create_qp(bob.options(QpKind::rc, pd, cqn));
        connect(alice.number, bob.number, 1);
        connect(bob.number, alice.number);
    }
    Bytes write_entry(std::uint32_t key, std::uint32_t remote_key, std::uint64_t at)
    {
        Bytes entry;
        append_control(entry, WqeOpcode::rdma_write, false);
        append_remote(entry, at, remote_key);
        append_piece(entry, buffer, 64, key);
        return ended(entry);
    }
    Bytes send_entry(bool signaled = false)
    {
        Bytes entry;
        append_control(entry, WqeOpcode::send, signaled);
        append_piece(entry, buffer, 64, lkey);
        return ended(entry);
    }
    Bytes nop()
    {
        Bytes entry;
        append_control(entry, WqeOpcode::nop, false);
        return ended(entry);
    }
    void expect_failure(CqeOpcode side, std::uint32_t qpn, std::uint16_t entry, CqeSyndrome wanted)
    {
        const auto completion = cq.next();
        ASSERT_TRUE(completion);
        EXPECT_EQ(opcode(*completion), side);
        EXPECT_EQ(syndrome(*completion), wanted);
        EXPECT_EQ(field(*completion, layouts::cqe64::qpn), qpn);
        EXPECT_EQ(field(*completion, layouts::cqe64::wqe_counter), entry);
    }
    void expect_event(EventType wanted, std::uint32_t number)
    {
        const auto event = eq.next();
        ASSERT_TRUE(event);
        EXPECT_EQ(type(*event), wanted);
        EXPECT_EQ(layouts::get(layouts::part(std::span{*event}, layouts::eqe::data), layouts::eqe_qp_srq::qp_srq_n),
                  number);
    }
    void change_key(const firmware::KeyChange& change) override
    {
        changes.push_back(change.index);
        over_keys_only.push_back(change.over_keys_only);
        if (refuse_change)
            throw firmware::Refusal{firmware::Status::bad_res_state, "it is not free"};
    }

    DriverCq cq{memory, 5};
    std::uint32_t cqn = 0;
    DriverQp alice{memory, 4, 2};
    DriverQp bob{memory, 4, 2};
    std::uint64_t buffer = 0;
    std::uint32_t lkey = 0;
    std::vector<std::uint32_t> changes;
    std::vector<bool> over_keys_only;
    bool refuse_change = false;
};

TEST_F(DataPathErrors, EndTheQueueAndFlushWhatFollows)
{
    alice.write(write_entry(lkey, lkey ^ 0xff, buffer + 4096)); // a stale key
    alice.write(nop());
    alice.write(send_entry());
    bob.receive(buffer, 64, lkey);
    alice.tell_sends();
    ring(alice);
    work();
    expect_failure(CqeOpcode::req_err, alice.number, 0, CqeSyndrome::remote_access);
    expect_failure(CqeOpcode::resp_err, bob.number, 0, CqeSyndrome::wr_flush);
    expect_failure(CqeOpcode::req_err, alice.number, 1, CqeSyndrome::wr_flush);
    expect_failure(CqeOpcode::req_err, alice.number, 2, CqeSyndrome::wr_flush);
    EXPECT_FALSE(cq.next());
    expect_event(EventType::wq_access_error, bob.number);
    EXPECT_EQ(path.query_qp(alice.number).state, hca::QpState::err);
    post(alice, nop());
    work();
    expect_failure(CqeOpcode::req_err, alice.number, 3, CqeSyndrome::wr_flush);
}

TEST_F(DataPathErrors, SayWhatWasWrong)
{
    const auto fails_with = [this](const Bytes& entry, CqeSyndrome wanted) {
        SCOPED_TRACE(static_cast<unsigned>(wanted));
        DriverQp from{memory, 4, 2};
        DriverQp to{memory, 4, 2};
        from.number = path.create_qp(from.options(QpKind::rc, pd, cqn));
        to.number = path.create_qp(to.options(QpKind::rc, pd, cqn));
        connect(from.number, to.number, 1);
        connect(to.number, from.number);
        post(from, entry);
        work();
        pass(1s);
        pass(1s);
        expect_failure(CqeOpcode::req_err, from.number, 0, wanted);
        while (cq.next())
            ;
        path.destroy_qp(from.number);
        path.destroy_qp(to.number);
    };
    fails_with(write_entry(lkey ^ 0xff, lkey, buffer), CqeSyndrome::local_prot);
    fails_with(write_entry(lkey, lkey, buffer + buffer_bytes - 1), CqeSyndrome::remote_access);
    fails_with(send_entry(), CqeSyndrome::rnr_retry_exc);
    Bytes unknown;
    append_control(unknown, static_cast<WqeOpcode>(0x3f), false);
    fails_with(ended(unknown), CqeSyndrome::local_qp_op);
    Bytes no_length = nop();
    layouts::set(no_length, layouts::wqe_ctrl_seg::ds, 0);
    fails_with(no_length, CqeSyndrome::local_qp_op);
    Bytes too_long = nop();
    layouts::set(too_long, layouts::wqe_ctrl_seg::ds, 63);
    fails_with(too_long, CqeSyndrome::local_qp_op);
    Bytes no_address;
    append_control(no_address, WqeOpcode::rdma_write, false);
    fails_with(ended(no_address), CqeSyndrome::local_qp_op);
}

TEST_F(DataPathErrors, AWrongCounterEndsTheQueue)
{
    alice.say_sends(17); // of 16 blocks
    ring(alice);
    work();
    expect_event(EventType::wq_catas_error, alice.number);
    EXPECT_EQ(path.query_qp(alice.number).state, hca::QpState::err);
    alice.say_sends(50);
    ring(alice);
    work();
    EXPECT_FALSE(eq.next()) << "it has ended already";
}

TEST_F(DataPathErrors, AnEntryThatMakesNoSenseIsNamedAsItIsWritten)
{
    Bytes entry = write_entry(lkey, lkey, buffer + 4096);
    post(alice, entry);
    layouts::set(entry, layouts::wqe_ctrl_seg::opcode, static_cast<std::uint8_t>(WqeOpcode::rdma_read));
    layouts::set(entry, layouts::wqe_ctrl_seg::ds, 32); // eight blocks, where one is posted
    post(alice, entry);
    work();
    const auto completion = cq.next();
    ASSERT_TRUE(completion);
    EXPECT_EQ(opcode(*completion), CqeOpcode::req_err);
    EXPECT_EQ(syndrome(*completion), CqeSyndrome::local_qp_op);
    EXPECT_EQ(field(*completion, layouts::cqe64::s_wqe_opcode), static_cast<std::uint64_t>(WqeOpcode::rdma_read));
}

TEST_F(DataPathErrors, AFullCompletionQueueIsReported)
{
    for (int i = 0; i < 3; ++i) {
        for (int j = 0; j < 16; ++j) {
            Bytes entry;
            append_control(entry, WqeOpcode::nop);
            alice.write(ended(entry));
        }
        alice.tell_sends();
        ring(alice);
        work();
    }
    const auto event = eq.next();
    ASSERT_TRUE(event);
    EXPECT_EQ(type(*event), EventType::cq_error);
    const auto data = layouts::part(std::span{*event}, layouts::eqe::data);
    EXPECT_EQ(layouts::get(data, layouts::eqe_cq_err::cqn), cqn);
    EXPECT_EQ(layouts::get(data, layouts::eqe_cq_err::syndrome), 1u);
    expect_event(EventType::wq_catas_error, alice.number);
    EXPECT_FALSE(eq.next());
    EXPECT_EQ(path.query_qp(alice.number).state, hca::QpState::err);
    EXPECT_EQ(path.query_qp(bob.number).state, hca::QpState::rts) << "it has lost nothing yet";
    post(alice, nop());
    bob.receive(buffer, 64, lkey);
    work();
    EXPECT_FALSE(eq.next()) << "all was said";
    // Whoever loses a completion there later ends, too.
    Bytes signaled;
    append_control(signaled, WqeOpcode::nop);
    post(bob, ended(signaled));
    work();
    expect_event(EventType::wq_catas_error, bob.number);
    EXPECT_EQ(path.query_qp(bob.number).state, hca::QpState::err);
}

TEST_F(DataPathErrors, OnlyAPrivilegedQueuePairUsesThePrivilegedKey)
{
    hca::MkeySpec spec;
    spec.mode = hca::KeyMode::pa;
    spec.pd = pd;
    spec.every_pd = true;
    spec.privileged = true;
    spec.rights = hca::KeyRights::local_read | hca::KeyRights::local_write;
    spec.length = ~std::uint64_t{0};
    const std::uint32_t all = engine.create_mkey(spec).value;
    for (const bool privileged : {false, true}) {
        SCOPED_TRACE(privileged);
        DriverQp from{memory, 4, 2};
        DriverQp to{memory, 4, 2};
        QueuePairOptions options = from.options(QpKind::rc, pd, cqn);
        options.privileged = privileged;
        from.number = path.create_qp(options);
        options = to.options(QpKind::rc, pd, cqn);
        options.privileged = privileged;
        to.number = path.create_qp(options);
        connect(from.number, to.number, 1);
        connect(to.number, from.number);
        post(from, write_entry(all, lkey, buffer));
        work();
        EXPECT_EQ(path.query_qp(from.number).state, privileged ? hca::QpState::rts : hca::QpState::err);
        to.receive(buffer, 64, all);
        from.write(send_entry(true));
        from.tell_sends();
        ring(from);
        work();
        if (privileged) {
            EXPECT_EQ(opcode(cq.next().value_or(Bytes(64))), CqeOpcode::resp_send);
            EXPECT_EQ(opcode(cq.next().value_or(Bytes(64))), CqeOpcode::req);
        } else {
            expect_failure(CqeOpcode::req_err, from.number, 0, CqeSyndrome::local_prot);
        }
        while (cq.next())
            ;
        path.destroy_qp(from.number);
        path.destroy_qp(to.number);
    }
}

TEST_F(DataPathErrors, ASenderWaitsForAReceiveAndGoesOnByItsTimer)
{
    post(alice, send_entry(true));
    work();
    EXPECT_FALSE(cq.next());
    bob.receive(buffer + 4096, 64, lkey);
    work();
    EXPECT_FALSE(cq.next()) << "nobody tells of receives";
    ASSERT_TRUE(path.deadline());
    pass(*path.deadline() - now);
    EXPECT_EQ(opcode(cq.next().value_or(Bytes(64, std::byte{0xff}))), CqeOpcode::resp_send);
    EXPECT_EQ(opcode(cq.next().value_or(Bytes(64, std::byte{0xff}))), CqeOpcode::req);
}

TEST_F(DataPathErrors, WhatTheEngineDoesNotDoComesAfterWhatItDoes)
{
    // The change of a key waits for the send before it, which waits for a receive.
    alice.write(send_entry(true));
    Bytes change;
    append_control(change, WqeOpcode::umr, true, 0x77 << 8);
    append(change, {}, layouts::wqe_umr_ctrl_seg::bytes);
    append(change, {}, layouts::mkey_seg::bytes);
    alice.write(ended(change));
    alice.write(send_entry(true));
    alice.tell_sends();
    ring(alice);
    work();
    EXPECT_TRUE(changes.empty());
    bob.receive(buffer + 4096, 64, lkey);
    bob.receive(buffer + 4096, 64, lkey);
    pass(10ms);
    EXPECT_EQ(changes, std::vector<std::uint32_t>{0x77});
    std::string order;
    while (const auto entry = cq.next())
        order += opcode(*entry) == CqeOpcode::req ? std::to_string(field(*entry, layouts::cqe64::wqe_counter)) : "r";
    EXPECT_EQ(order, "r01r3") << "an entry of two blocks is between them";
}

TEST_F(DataPathErrors, AChangeThatIsRefusedFails)
{
    refuse_change = true;
    Bytes change;
    append_control(change, WqeOpcode::umr, false, 0x77 << 8);
    append(change, {}, layouts::wqe_umr_ctrl_seg::bytes);
    append(change, {}, layouts::mkey_seg::bytes);
    post(alice, ended(change));
    work();
    expect_failure(CqeOpcode::req_err, alice.number, 0, CqeSyndrome::mw_bind);
    EXPECT_EQ(path.query_qp(alice.number).state, hca::QpState::err);
}

TEST_F(DataPathErrors, OnlyAPrivilegedQueuePairChangesKeysOfMemory)
{
    Bytes change;
    append_control(change, WqeOpcode::umr, false, 0x77 << 8);
    append(change, {}, layouts::wqe_umr_ctrl_seg::bytes);
    append(change, {}, layouts::mkey_seg::bytes);
    post(alice, ended(change));
    work();
    DriverQp kernels{memory, 4, 2};
    QueuePairOptions options = kernels.options(QpKind::rc, pd, cqn);
    options.privileged = true;
    kernels.number = path.create_qp(options);
    connect(kernels.number, bob.number);
    post(kernels, ended(change));
    work();
    EXPECT_EQ(over_keys_only, (std::vector<bool>{true, false}));
}

TEST_F(DataPathErrors, NothingOfAQueuePairIsSeenOnceItIsReset)
{
    post(alice, send_entry(true));
    work();
    path.modify_qp(alice.number, hca::QpState::reset, {});
    alice.produced = 0;
    alice.tell_sends();
    bob.receive(buffer + 4096, 64, lkey);
    pass(1s);
    EXPECT_FALSE(cq.next());
    connect(alice.number, bob.number);
    post(alice, nop());
    post(alice, send_entry(true));
    work();
    const auto received = cq.next();
    ASSERT_TRUE(received);
    EXPECT_EQ(opcode(*received), CqeOpcode::resp_send);
    EXPECT_EQ(field(cq.next().value_or(Bytes(64)), layouts::cqe64::wqe_counter), 1u);
}

TEST_F(DataPathErrors, ReceivesThatAreAddedInErrorAreFlushed)
{
    bob.receive(buffer, 64, lkey);
    path.modify_qp(bob.number, hca::QpState::err, {});
    work();
    expect_failure(CqeOpcode::resp_err, bob.number, 0, CqeSyndrome::wr_flush);
    bob.receive(buffer, 64, lkey);
    work();
    ASSERT_TRUE(path.deadline());
    pass(*path.deadline() - now);
    expect_failure(CqeOpcode::resp_err, bob.number, 1, CqeSyndrome::wr_flush);
    pass(1h);
    bob.receive(buffer, 64, lkey);
    pass(256ms);
    expect_failure(CqeOpcode::resp_err, bob.number, 2, CqeSyndrome::wr_flush);
    pass(1h);
    bob.receive(buffer, 64, lkey);
    arm(cq, cqn, 1);
    work();
    expect_failure(CqeOpcode::resp_err, bob.number, 3, CqeSyndrome::wr_flush);
}

TEST_F(DataPathErrors, NothingIsReadThatIsNotThere)
{
    alice.write(send_entry());
    alice.tell_sends();
    memory.punch(alice.address(), alice.address() + alice.bytes());
    ring(alice);
    work();
    expect_failure(CqeOpcode::req_err, alice.number, 0, CqeSyndrome::local_qp_op);
}

} // namespace
} // namespace mrz::queues
