// SPDX-License-Identifier: BSD-3-Clause
#include "fixture.hpp"

#include <cerrno>

namespace mrz::test {
namespace {

class Queues : public Conformance {
  protected:
    template <class Function>
    static int refused(const Function& function)
    {
        try {
            function();
        } catch (const Error& error) {
            return error.error_number();
        }
        return 0;
    }
};
MRZ_EVERY_DEVICE(Queues);

TEST_P(Queues, FlushWhatIsOutstandingWhenTheyFail)
{
    const Pair pair{domain, domain};
    for (std::uint64_t id = 0; id < 5; ++id)
        pair.far->post_receive({.id = id, .segments = {}});
    pair.far->fail();
    for (std::uint64_t id = 0; id < 5; ++id) {
        const Completion flushed = Pair::wait(*pair.far);
        EXPECT_EQ(flushed.id, id);
        ends_in("a receive that is outstanding when the queue pair fails", WcStatus::flush_error, flushed.status);
    }
    pair.far->post_receive({.id = 9, .segments = {}});
    ends_in("a receive posted to a queue pair that failed", WcStatus::flush_error, Pair::wait(*pair.far).status);
}

TEST_P(Queues, FlushWhatFollowsAnError)
{
    const Region local = own();
    const Pair pair{domain, domain};
    const Segment room = segment(local, 0, 8);
    SendRequest wrong = request(Opcode::rdma_write, room, {}, RKey{0});
    ends_in("a write by an rkey that is none", WcStatus::remote_access_error, pair.status(wrong));
    wrong.id = 8;
    const Completion next = pair.run(wrong);
    ends_in("what is posted after an error", WcStatus::flush_error, next.status);
    EXPECT_EQ(next.id, 8u);
}

TEST_P(Queues, TellOfErrorsThoughSuccessWouldBeSilent)
{
    const Region local = own();
    const Region far = expose(domain, all_rights);
    const Pair pair{domain, domain};
    const Segment room = segment(local, 0, 8);
    SendRequest silent = request(Opcode::rdma_write, room, far.iova(), far.rkey());
    silent.signaled = false;
    pair.near->post_send(silent);
    silent.id = 21;
    silent.rkey = RKey{0};
    const Completion told = pair.run(silent);
    EXPECT_EQ(told.id, 21u); // the first made none
    EXPECT_EQ(told.status, WcStatus::remote_access_error);
}

TEST_P(Queues, GiveUpOnAPeerWithoutReceivesAsOftenAsToldAndNoLater)
{
    const Region local = own();
    const Segment room = segment(local, 0, 8);
    for (const std::uint8_t retries : {std::uint8_t{0}, std::uint8_t{2}}) {
        const Pair pair{domain, domain, {.rnr_retry = retries}};
        ends_in("a send to a peer without receives", WcStatus::rnr_retry_exceeded,
                pair.status(request(Opcode::send, room, {}, {})));
    }
    const Pair patient{domain, domain};
    patient.near->post_send(request(Opcode::send, room, {}, {}));
    Completion none;
    EXPECT_EQ(patient.near->poll({&none, 1}), 0u);
    const Segment into = segment(local, 64, 8);
    patient.far->post_receive({.id = 1, .segments = {&into, 1}});
    EXPECT_EQ(Pair::wait(*patient.near).status, WcStatus::success);
    EXPECT_EQ(Pair::wait(*patient.far).status, WcStatus::success);
}

TEST_P(Queues, RefuseAMessageThatIsLongerThanTheReceive)
{
    const Region local = own();
    const Pair pair{domain, domain};
    const Segment from = segment(local, 0, 100);
    const Segment into = segment(local, 1000, 99);
    pair.far->post_receive({.id = 1, .segments = {&into, 1}});
    const std::vector<std::byte> before = near_memory.copy();
    ends_in("a send that is longer than the peer's receive", WcStatus::remote_invalid_request_error,
            pair.status(request(Opcode::send, from, {}, {})));
    ends_in("a receive that is shorter than the message", WcStatus::local_length_error, Pair::wait(*pair.far).status);
    EXPECT_TRUE(same(near_memory.bytes(), before));
}

TEST_P(Queues, RefuseWhatDoesNotFitTheirOptions)
{
    const Region local = own();
    const Region far = expose(domain, all_rights);
    const QueuePairOptions options{.send_requests = 4, .receive_requests = 3, .segments = 2, .inline_bytes = 16};
    const Pair pair{domain, domain, options};
    const Segment room = segment(local, 0, 8);
    const std::vector<Segment> many(3, room);
    SendRequest write = request(Opcode::rdma_write, room, far.iova(), far.rkey());
    write.segments = many;
    EXPECT_EQ(refused([&] { pair.near->post_send(write); }), EINVAL);
    EXPECT_EQ(refused([&] { pair.near->post_receive({.id = 1, .segments = many}); }), EINVAL);
    const std::vector<std::byte> text(17);
    const Segment inline_text{Iova{reinterpret_cast<std::uintptr_t>(text.data())}, 17, {}};
    write.segments = {&inline_text, 1};
    write.inlined = true;
    EXPECT_EQ(refused([&] { pair.near->post_send(write); }), EINVAL);

    write.inlined = false;
    write.segments = {&room, 1};
    for (int round = 0; round < 3; ++round) {
        for (unsigned i = 0; i < options.send_requests; ++i)
            EXPECT_EQ(refused([&] { pair.near->post_send(write); }), 0);
        EXPECT_EQ(refused([&] { pair.near->post_send(write); }), ENOMEM);
        for (unsigned i = 0; i < options.send_requests; ++i)
            EXPECT_EQ(Pair::wait(*pair.near).status, WcStatus::success);
    }
    for (unsigned i = 0; i < options.receive_requests; ++i)
        EXPECT_EQ(refused([&] { pair.far->post_receive({.id = i, .segments = {}}); }), 0);
    EXPECT_EQ(refused([&] { pair.far->post_receive({.id = 9, .segments = {}}); }), ENOMEM);
    // A receive that was used makes room when it is polled.
    write.opcode = Opcode::rdma_write_with_immediate;
    EXPECT_EQ(pair.status(write), WcStatus::success);
    EXPECT_EQ(refused([&] { pair.far->post_receive({.id = 9, .segments = {}}); }), ENOMEM);
    EXPECT_EQ(Pair::wait(*pair.far).status, WcStatus::success);
    EXPECT_EQ(refused([&] { pair.far->post_receive({.id = 9, .segments = {}}); }), 0);
}

TEST_P(Queues, ConnectOnceAndToEndpointsOnly)
{
    const Pair pair{domain, domain};
    EXPECT_EQ(refused([&] { pair.near->connect(pair.far->local()); }), EISCONN);
    const auto lonely = domain.create_queue_pair();
    EXPECT_EQ(refused([&] { lonely->connect({}); }), EINVAL);
    Endpoint junk = pair.far->local();
    std::ranges::fill(junk.bytes, std::byte{0xff});
    EXPECT_NE(refused([&] { lonely->connect(junk); }), 0);
    const Region local = own();
    const Segment room = segment(local, 0, 8);
    EXPECT_EQ(refused([&] { lonely->post_send(request(Opcode::send, room, {}, {})); }), EINVAL);
    EXPECT_EQ(refused([&] { lonely->post_receive({.id = 1, .segments = {&room, 1}}); }), 0);
}

TEST_P(Queues, OutliveTheirPeer)
{
    const Region local = own();
    Pair pair{domain, domain, {.retry = 0}};
    pair.far.reset();
    const Segment room = segment(local, 0, 8);
    ends_in("a write to a peer that is gone", WcStatus::retry_exceeded,
            pair.status(request(Opcode::rdma_write, room, local.iova(), local.rkey())));
}

TEST_P(Queues, RefuseAtomicsThatAreNotOfOneAlignedWord)
{
    const Region local = own(all_rights);
    const Region far = expose(domain, all_rights);
    std::vector<std::byte> near_before = near_memory.copy();
    std::vector<std::byte> far_before = far_memory.copy();
    for (const Opcode opcode : {Opcode::atomic_compare_and_swap, Opcode::atomic_fetch_and_add}) {
        for (const std::uint64_t offset : {1U, 4U, 7U}) {
            const Pair pair{domain, domain};
            const Segment room = segment(local, 0, 8);
            ends_in("an atomic operation on no aligned word", WcStatus::remote_invalid_request_error,
                    pair.status(request(opcode, room, far.iova() + offset, far.rkey())));
        }
        for (const std::size_t length : {1U, 7U, 9U}) {
            const Pair pair{domain, domain};
            const Segment room = segment(local, 0, length);
            ends_in("an atomic operation that is not of 8 bytes", WcStatus::local_length_error,
                    pair.status(request(opcode, room, far.iova(), far.rkey())));
        }
    }
    if (quirks.any_atomic_length) { // then of eight bytes, and no others
        std::copy_n(near_memory.bytes().begin(), 8, near_before.begin());
        std::copy_n(far_memory.bytes().begin() + margin, 8, far_before.begin() + margin);
    }
    EXPECT_TRUE(same(near_memory.bytes(), near_before));
    EXPECT_TRUE(same(far_memory.bytes(), far_before));
}

TEST_P(Queues, OfPeersThatGiveAWrongReceiveBothLearnOfIt)
{
    const Region local = own();
    const Region far = expose(domain, Access::local_read);
    const Pair pair{domain, domain};
    const Segment from = segment(local, 0, 64);
    const Segment into = segment(far, 0, 64);
    pair.far->post_receive({.id = 3, .segments = {&into, 1}});
    ends_in("a send into a receive that the peer may not write", WcStatus::remote_operation_error,
            pair.status(request(Opcode::send, from, {}, {})));
    ends_in("a receive that its owner may not write", WcStatus::local_protection_error, Pair::wait(*pair.far).status);
}

TEST_P(Queues, HaveSendersThatLearnOfAPeersFailure)
{
    const Region local = own();
    const Pair pair{domain, domain, {.retry = 0}};
    pair.far->fail();
    const Segment room = segment(local, 0, 8);
    ends_in("a write to a peer that failed", WcStatus::retry_exceeded,
            pair.status(request(Opcode::rdma_write, room, local.iova(), local.rkey())));
}

} // namespace
} // namespace mrz::test
