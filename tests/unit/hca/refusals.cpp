// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! What must not happen, and how each side is told.
#include "engine.hpp"

#include <cerrno>
#include <string>
#include <utility>

using namespace mrz;
using namespace mrz::hca;

namespace {

constexpr SendOpcode one_sided[] = {SendOpcode::rdma_write, SendOpcode::rdma_write_with_immediate,
                                    SendOpcode::rdma_read, SendOpcode::compare_and_swap, SendOpcode::fetch_and_add};

KeyRights right_for(SendOpcode opcode)
{
    if (is_atomic(opcode))
        return KeyRights::remote_atomic;
    return opcode == SendOpcode::rdma_read ? KeyRights::remote_read : KeyRights::remote_write;
}

class Refusals : public EngineTest {
  protected:
    // Makes both queue pairs anew, with a receive posted for each operation that takes one.
    void fresh(KeyRights access = all_rights)
    {
        for (Side* side : {&alice, &bob}) {
            if (side->qp)
                hca.destroy_qp(side->qp);
        }
        connect(access);
        receive(bob, {}, 200);
        events.clear();
    }
    std::uint32_t length_of(SendOpcode opcode) const { return is_atomic(opcode) ? 8 : 16; }
    // Posts, expects how it ends at the requester's, and that no byte has moved.
    void expect_refused(const SendWorkRequest& work, WcStatus status, const std::string& what)
    {
        const auto before_alice = bytes(alice);
        const auto before_bob = bytes(bob);
        ASSERT_EQ(hca.post_send(*alice.qp, work), 0) << what;
        EXPECT_EQ(only_status(alice), status) << what;
        EXPECT_EQ(alice.qp->state(), QpState::err) << what;
        EXPECT_EQ(bytes(alice), before_alice) << what;
        EXPECT_EQ(bytes(bob), before_bob) << what;
    }
    // Refused by the peer, which fails with its receive flushed.
    void expect_refused_remotely(const SendWorkRequest& work, WcStatus status, EventType event,
                                 const std::string& what)
    {
        expect_refused(work, status, what);
        EXPECT_EQ(bob.qp->state(), QpState::err) << what;
        EXPECT_EQ(only_status(bob), WcStatus::flush_error) << what;
        EXPECT_EQ(events, (std::vector<Event>{{event, bob.qp->number()}})) << what;
    }
    void expect_granted(const SendWorkRequest& work, const std::string& what)
    {
        ASSERT_EQ(hca.post_send(*alice.qp, work), 0) << what;
        EXPECT_EQ(only_status(alice), WcStatus::success) << what;
    }
};

} // namespace

TEST_F(Refusals, EveryRightIsNeededByItsOperations)
{
    const KeyRights single[] = {KeyRights::local_read, KeyRights::local_write, KeyRights::remote_read,
                                KeyRights::remote_write, KeyRights::remote_atomic};
    for (const SendOpcode opcode : one_sided) {
        for (const KeyRights granted : single) {
            fresh();
            const Mkey key = hca.create_mkey(bob.pages.spec(pd, granted));
            const std::vector<Sge> sges = {alice.sge(0, length_of(opcode))};
            SendWorkRequest work = request(opcode, sges, bob, 8);
            work.rkey = RKey{key.value};
            const std::string what = std::string{to_string(completion_opcode(opcode))} + ", rights " +
                                     std::to_string(static_cast<int>(granted));
            if (granted == right_for(opcode))
                expect_granted(work, what);
            else
                expect_refused_remotely(work, WcStatus::remote_access_error, EventType::qp_access_error, what);
            hca.destroy_mkey(key);
        }
    }
}

TEST_F(Refusals, AQueuePairHasRightsOfItsOwn)
{
    for (const SendOpcode opcode : one_sided) {
        for (const KeyRights access : {KeyRights::remote_read, KeyRights::remote_write, KeyRights::remote_atomic}) {
            fresh(access);
            const std::vector<Sge> sges = {alice.sge(0, length_of(opcode))};
            const std::string what{to_string(completion_opcode(opcode))};
            if (access == right_for(opcode))
                expect_granted(request(opcode, sges, bob, 8), what);
            else
                expect_refused_remotely(request(opcode, sges, bob, 8), WcStatus::remote_invalid_request_error,
                                        EventType::qp_request_error, what);
        }
    }
}

TEST_F(Refusals, BothBoundsHoldForEveryOperation)
{
    struct Place {
        std::uint64_t offset; // from the start of the key; may wrap
        std::uint32_t length;
        bool inside;
    };
    const auto whole = static_cast<std::uint32_t>(region_bytes);
    const auto places_at = [whole](std::uint64_t start) {
        return std::vector<Place>{{0, 1, true},
                                  {region_bytes - 1, 1, true},
                                  {0, whole, true},
                                  {~0ULL, 1, false},
                                  {~0ULL, 2, false},
                                  {region_bytes, 1, false},
                                  {region_bytes - 1, 2, false},
                                  {0, whole + 1, false},
                                  {0 - start - 8, 16, false}}; // the last bytes of the address space, and the first
    };
    // Enough memory at this side, whatever is asked of the other.
    MkeySpec null;
    null.mode = KeyMode::null;
    null.pd = pd;
    null.rights = KeyRights::local_read | KeyRights::local_write;
    null.length = ~0ULL;
    const Mkey anything = hca.create_mkey(null);
    for (const SendOpcode opcode :
         {SendOpcode::rdma_write, SendOpcode::rdma_write_with_immediate, SendOpcode::rdma_read}) {
        for (const Place& place : places_at(bob.pages.start)) {
            fresh();
            const std::vector<Sge> sges = {{Iova{0}, place.length, LKey{anything.value}}};
            const std::string what = std::to_string(place.offset) + " + " + std::to_string(place.length);
            if (place.inside)
                expect_granted(request(opcode, sges, bob, place.offset), what);
            else
                expect_refused_remotely(request(opcode, sges, bob, place.offset), WcStatus::remote_access_error,
                                        EventType::qp_access_error, what);
        }
    }
    for (const SendOpcode opcode : {SendOpcode::rdma_write, SendOpcode::rdma_read}) {
        for (const Place& place : places_at(alice.pages.start)) {
            fresh();
            const std::vector<Sge> sges = {alice.sge(place.offset, place.length)};
            if (place.inside)
                expect_granted(request(opcode, sges, bob, 0), "local");
            else
                expect_refused(request(opcode, sges, bob, 0), WcStatus::local_protection_error, "local");
        }
    }
}

TEST_F(Refusals, AtomicsWantEightAlignedBytes)
{
    for (const SendOpcode opcode : {SendOpcode::compare_and_swap, SendOpcode::fetch_and_add}) {
        // Bob's memory begins 8 bytes before a page: offset 0 is the first and region_bytes - 8 the last word.
        for (const std::uint64_t offset : {std::uint64_t{0}, region_bytes - 8}) {
            fresh();
            const std::vector<Sge> sges = {alice.sge(0, 8)};
            expect_granted(request(opcode, sges, bob, offset), "inside");
        }
        for (const std::uint64_t offset : {std::uint64_t{1}, std::uint64_t{4}, region_bytes - 4}) {
            fresh();
            const std::vector<Sge> sges = {alice.sge(0, 8)};
            expect_refused_remotely(request(opcode, sges, bob, offset), WcStatus::remote_invalid_request_error,
                                    EventType::qp_request_error, "unaligned");
        }
        for (const std::uint64_t offset : {0 - std::uint64_t{8}, region_bytes}) {
            fresh();
            const std::vector<Sge> sges = {alice.sge(0, 8)};
            expect_refused_remotely(request(opcode, sges, bob, offset), WcStatus::remote_access_error,
                                    EventType::qp_access_error, "outside");
        }
        for (const std::uint32_t length : {0U, 7U, 9U}) {
            fresh();
            const std::vector<Sge> sges = {alice.sge(0, length)};
            expect_refused(request(opcode, sges, bob, 0), WcStatus::local_length_error, "result");
        }
        fresh();
        MkeySpec odd;
        odd.mode = KeyMode::klm;
        odd.pd = pd;
        odd.rights = KeyRights::remote_atomic;
        odd.length = 16;
        odd.entries = {{bob.lkey, Iova{bob.pages.start + 1}, 12}, {bob.lkey, Iova{bob.pages.start + 100}, 4}};
        const Mkey key = hca.create_mkey(odd);
        odd.entries = {{bob.lkey, Iova{bob.pages.start + 8}, 4}, {bob.lkey, Iova{bob.pages.start + 100}, 12}};
        const Mkey broken = hca.create_mkey(odd);
        for (const auto& [used, address] : {std::pair{key, 0ULL}, std::pair{key, 8ULL}, std::pair{broken, 0ULL}}) {
            fresh();
            const std::vector<Sge> sges = {alice.sge(0, 8)};
            SendWorkRequest work = request(opcode, sges, bob, 0);
            work.rkey = RKey{used.value};
            work.remote_address = Iova{address};
            expect_refused_remotely(work, WcStatus::remote_invalid_request_error, EventType::qp_request_error,
                                    "aligned in the key, but not in memory, or in two pieces");
        }
        hca.destroy_mkey(key);
        hca.destroy_mkey(broken);
    }
}

TEST_F(Refusals, StaleForeignAndGuessedKeys)
{
    const Pd other = hca.alloc_pd();
    const Mkey foreign = hca.create_mkey(bob.pages.spec(other, all_rights));
    const Mkey old = hca.create_mkey(bob.pages.spec(pd, all_rights));
    const Mkey renewed = hca.reissue_mkey(old);
    const Mkey empty = hca.create_free_mkey(pd);
    const Mkey freed = hca.create_mkey(bob.pages.spec(pd, all_rights));
    hca.destroy_mkey(freed); // the last one, so that its index is not used again
    const Mkey guessed{renewed.value ^ 0x80};
    for (const Mkey key : {foreign, freed, old, empty, guessed, Mkey{0}, Mkey{~0U}}) {
        for (const SendOpcode opcode : one_sided) {
            fresh();
            const std::vector<Sge> sges = {alice.sge(0, length_of(opcode))};
            SendWorkRequest work = request(opcode, sges, bob, 0);
            work.rkey = RKey{key.value};
            expect_refused_remotely(work, WcStatus::remote_access_error, EventType::qp_access_error,
                                    format_hex(key.value));
        }
        fresh();
        const std::vector<Sge> sges = {{Iova{bob.pages.start}, 8, LKey{key.value}}};
        expect_refused(request(SendOpcode::rdma_read, sges, bob, 0), WcStatus::local_protection_error, "local");
        EXPECT_EQ(bob.qp->state(), QpState::rts) << "has not been asked";
    }
    fresh();
    const std::vector<Sge> sges = {alice.sge(0, 8)};
    SendWorkRequest work = request(SendOpcode::rdma_write, sges, bob, 0);
    work.rkey = RKey{renewed.value};
    expect_granted(work, "the new key");
}

TEST_F(Refusals, LocalAndRemoteKeysAreNoSubstitutes)
{
    fresh();
    const std::vector<Sge> sges = {alice.sge(0, 8)};
    SendWorkRequest work = request(SendOpcode::rdma_write, sges, bob, 0);
    work.rkey = RKey{bob.lkey.value};
    expect_refused_remotely(work, WcStatus::remote_access_error, EventType::qp_access_error, "lkey as rkey");
    fresh();
    const std::vector<Sge> remote = {{Iova{alice.pages.start}, 8, LKey{alice.rkey.value}}};
    expect_refused(request(SendOpcode::rdma_write, remote, bob, 0), WcStatus::local_protection_error, "rkey as lkey");
    fresh();
    const Mkey read_only = hca.create_mkey(alice.pages.spec(pd, KeyRights::local_read));
    const std::vector<Sge> target = {{Iova{alice.pages.start}, 8, LKey{read_only.value}}};
    expect_refused(request(SendOpcode::rdma_read, target, bob, 0), WcStatus::local_protection_error, "read into it");
    fresh();
    expect_granted(request(SendOpcode::rdma_write, target, bob, 0), "written from it");
}

TEST_F(Refusals, AReceiveMustHoldTheMessage)
{
    fresh();
    ASSERT_EQ(hca.post_receive(*bob.qp, {201, {}}), 0);
    const std::vector<Sge> one = {alice.sge(0, 1)};
    expect_refused(request(SendOpcode::send, one, bob, 0), WcStatus::remote_invalid_request_error, "too long");
    const auto ended = completions(bob);
    ASSERT_EQ(ended.size(), 2u);
    EXPECT_EQ(ended[0].status, WcStatus::local_length_error);
    EXPECT_EQ(ended[0].id, 200u);
    EXPECT_EQ(ended[1].status, WcStatus::flush_error);
    EXPECT_EQ(ended[1].id, 201u);
    EXPECT_EQ(bob.qp->state(), QpState::err);
}

TEST_F(Refusals, AReceiveMustBeWritable)
{
    fresh();
    completions(bob);
    hca.destroy_qp(bob.qp);
    hca.destroy_qp(alice.qp);
    connect();
    const Mkey read_only = hca.create_mkey(bob.pages.spec(pd, KeyRights::local_read));
    receive(bob, {{Iova{bob.pages.start}, 100, LKey{read_only.value}}}, 5);
    const std::vector<Sge> sges = {alice.sge(0, 10)};
    expect_refused(request(SendOpcode::send, sges, bob, 0), WcStatus::remote_operation_error, "not writable");
    const auto ended = completions(bob);
    ASSERT_EQ(ended.size(), 1u);
    EXPECT_EQ(ended[0].status, WcStatus::local_protection_error);
    EXPECT_EQ(bob.qp->state(), QpState::err);
}

TEST_F(Refusals, UnusedPartsOfAReceiveAreNotLookedAt)
{
    connect();
    receive(bob, {bob.sge(0, 10), {Iova{0}, 100, LKey{0xdead}}});
    const std::vector<Sge> sges = {alice.sge(0, 10)};
    expect_granted(request(SendOpcode::send, sges, bob, 0), "fits the first piece");
}

TEST_F(Refusals, MemoryThatTheBusLacksIsAnErrorOfItsSide)
{
    Pages nowhere = bob.pages;
    nowhere.frames.back() = DmaAddress{0x7777'0000'0000};
    const Mkey key = hca.create_mkey(nowhere.spec(pd, all_rights));
    fresh();
    const std::vector<Sge> sges = {alice.sge(0, static_cast<std::uint32_t>(region_bytes))};
    SendWorkRequest work = request(SendOpcode::rdma_write, sges, bob, 0);
    work.rkey = RKey{key.value};
    expect_refused(work, WcStatus::remote_operation_error, "remote");
    EXPECT_EQ(bob.qp->state(), QpState::err);
    fresh();
    const std::vector<Sge> lacking = {
        {Iova{bob.pages.start}, static_cast<std::uint32_t>(region_bytes), LKey{key.value}}};
    expect_refused(request(SendOpcode::rdma_write, lacking, bob, 0), WcStatus::local_protection_error, "local");
}

TEST_F(Refusals, WhatFollowsAFailureIsFlushedInOrder)
{
    fresh();
    for (std::uint64_t id = 201; id < 205; ++id)
        ASSERT_EQ(hca.post_receive(*bob.qp, {id, {}}), 0);
    hca.modify_qp(*alice.qp, QpState::sqd);
    const std::vector<Sge> sges = {alice.sge(0, 8)};
    for (std::uint64_t id = 1; id <= 5; ++id) {
        SendWorkRequest work = request(SendOpcode::rdma_write, sges, bob, id == 2 ? region_bytes : 0, id);
        work.flags = id == 4 ? SendFlags::none : SendFlags::signaled;
        ASSERT_EQ(hca.post_send(*alice.qp, work), 0);
    }
    hca.modify_qp(*alice.qp, QpState::rts);
    const auto sent = completions(alice);
    ASSERT_EQ(sent.size(), 5u) << "a silent one fails aloud";
    const WcStatus expected[] = {WcStatus::success, WcStatus::remote_access_error, WcStatus::flush_error,
                                 WcStatus::flush_error, WcStatus::flush_error};
    for (std::size_t i = 0; i < 5; ++i) {
        EXPECT_EQ(sent[i].id, i + 1);
        EXPECT_EQ(sent[i].status, expected[i]);
    }
    const auto received = completions(bob);
    ASSERT_EQ(received.size(), 5u);
    for (std::size_t i = 0; i < 5; ++i) {
        EXPECT_EQ(received[i].id, 200 + i);
        EXPECT_EQ(received[i].status, WcStatus::flush_error);
    }
    // Later posts are flushed at once, on both sides.
    ASSERT_EQ(hca.post_send(*bob.qp, request(SendOpcode::rdma_write, sges, alice, 0, 9)), 0);
    ASSERT_EQ(hca.post_receive(*bob.qp, {10, {}}), 0);
    const auto late = completions(bob);
    ASSERT_EQ(late.size(), 2u);
    EXPECT_EQ(late[0].id, 9u);
    EXPECT_EQ(late[1].id, 10u);
    EXPECT_EQ(hca.counters().failures[static_cast<std::size_t>(WcStatus::flush_error)], 10u);
}

TEST_F(Refusals, APeerThatIsGoneOrAnothersDoesNotAnswer)
{
    const std::vector<Sge> sges = {alice.sge(0, 8)};
    fresh();
    hca.modify_qp(*bob.qp, QpState::err);
    expect_refused(request(SendOpcode::rdma_write, sges, bob, 0), WcStatus::retry_exceeded_error, "in ERR");
    fresh();
    hca.destroy_qp(bob.qp);
    bob.qp.reset();
    expect_refused(request(SendOpcode::rdma_write, sges, bob, 0), WcStatus::retry_exceeded_error, "gone");
    fresh();
    const auto third = hca.create_qp(rc_options(bob));
    hca.modify_qp(*third, QpState::init, to_init_rc());
    hca.modify_qp(*third, QpState::rtr, to_rtr_rc(alice.qp->number()));
    hca.modify_qp(*third, QpState::rts, to_rts_rc());
    ASSERT_EQ(hca.post_send(*third, request(SendOpcode::rdma_write, sges, alice, 0)), 0);
    EXPECT_EQ(third->state(), QpState::err) << "alice talks to bob";
    EXPECT_EQ(alice.qp->state(), QpState::rts);
}

TEST_F(Refusals, WithoutReadResourcesNoReads)
{
    alice.qp = hca.create_qp(rc_options(alice));
    bob.qp = hca.create_qp(rc_options(bob));
    for (Side* side : {&alice, &bob}) {
        QpAttributes rtr = to_rtr_rc((side == &alice ? bob : alice).qp->number());
        rtr.max_dest_rd_atomic = 0;
        hca.modify_qp(*side->qp, QpState::init, to_init_rc());
        hca.modify_qp(*side->qp, QpState::rtr, rtr);
        hca.modify_qp(*side->qp, QpState::rts, to_rts_rc());
    }
    const std::vector<Sge> sges = {alice.sge(0, 8)};
    expect_granted(request(SendOpcode::rdma_write, sges, bob, 0), "write");
    expect_refused(request(SendOpcode::rdma_read, sges, bob, 0), WcStatus::remote_invalid_request_error, "read");
}
