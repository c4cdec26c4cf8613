// SPDX-License-Identifier: BSD-3-Clause
#include "engine.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

using namespace mrz;
using namespace mrz::hca;

namespace {

class Operations : public EngineTest {
  protected:
    Operations() { connect(); }

    // Puts a signaled request through and returns its completion.
    Completion run(SendWorkRequest work)
    {
        EXPECT_EQ(hca.post_send(*alice.qp, work), 0);
        const std::vector<Completion> all = completions(alice);
        EXPECT_EQ(all.size(), 1u);
        return all.empty() ? Completion{} : all.front();
    }
    std::uint64_t word(const Side& side, std::uint64_t offset)
    {
        std::uint64_t value = 0;
        for (std::size_t i = 0; i < sizeof value; ++i)
            std::memcpy(reinterpret_cast<char*>(&value) + i,
                        &memory.at(side.pages.dma(side.pages.start + offset + i)), 1);
        return value;
    }
};

// Expects `after` to be `before` with `length` bytes at `to` replaced by those of `source` at `from`.
void expect_moved(std::vector<std::byte> before, const std::vector<std::byte>& after, std::size_t to,
                  const std::vector<std::byte>& source, std::size_t from, std::size_t length)
{
    std::copy_n(source.begin() + static_cast<std::ptrdiff_t>(from), length,
                before.begin() + static_cast<std::ptrdiff_t>(to));
    EXPECT_EQ(before, after);
}

} // namespace

TEST_F(Operations, AWriteMovesItsBytesAndNoOthers)
{
    for (const std::uint32_t length : {1U, 64U, 4096U, 10000U}) {
        for (const std::uint64_t offset :
             {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{3800}, region_bytes - length}) {
            const auto before = bytes(bob);
            const Completion done = run(request(SendOpcode::rdma_write, {alice.sge(77, length)}, bob, offset));
            EXPECT_EQ(done.status, WcStatus::success);
            EXPECT_EQ(done.opcode, WcOpcode::rdma_write);
            expect_moved(before, bytes(bob), offset, bytes(alice), 77, length);
        }
    }
    EXPECT_EQ(hca.counters().operations[0], 16u);
}

TEST_F(Operations, AReadBringsBytesBack)
{
    const auto before = bytes(alice);
    const Completion done =
        run(request(SendOpcode::rdma_read, {alice.sge(5, 4000), alice.sge(9000, 5000)}, bob, 123, 42));
    EXPECT_EQ(done.status, WcStatus::success);
    EXPECT_EQ(done.opcode, WcOpcode::rdma_read);
    EXPECT_EQ(done.id, 42u);
    EXPECT_EQ(done.byte_length, 9000u);
    auto expected = before;
    const auto source = bytes(bob);
    std::copy_n(source.begin() + 123, 4000, expected.begin() + 5);
    std::copy_n(source.begin() + 4123, 5000, expected.begin() + 9000);
    EXPECT_EQ(bytes(alice), expected);
}

TEST_F(Operations, ASendFillsTheOldestReceive)
{
    receive(bob, {bob.sge(0, 100), bob.sge(4000, 1000)}, 7);
    receive(bob, {bob.sge(0, 100)}, 8);
    const auto before = bytes(bob);
    EXPECT_EQ(run(request(SendOpcode::send, {alice.sge(0, 50), alice.sge(60, 300)}, bob, 0)).status,
              WcStatus::success);
    const auto received = completions(bob);
    ASSERT_EQ(received.size(), 1u);
    EXPECT_EQ(received[0].id, 7u);
    EXPECT_EQ(received[0].opcode, WcOpcode::receive);
    EXPECT_EQ(received[0].byte_length, 350u);
    EXPECT_EQ(received[0].source_qpn, alice.qp->number());
    EXPECT_EQ(received[0].qpn, bob.qp->number());
    EXPECT_FALSE(received[0].has_immediate);
    auto expected = before;
    const auto source = bytes(alice);
    std::copy_n(source.begin(), 50, expected.begin());
    std::copy_n(source.begin() + 60, 50, expected.begin() + 50);
    std::copy_n(source.begin() + 110, 250, expected.begin() + 4000);
    EXPECT_EQ(bytes(bob), expected);
}

TEST_F(Operations, ImmediatesArriveWithAReceive)
{
    receive(bob, {bob.sge(0, 8)}, 1);
    receive(bob, {}, 2);
    const auto before = bytes(bob);
    (void)run(request(SendOpcode::send_with_immediate, {alice.sge(0, 8)}, bob, 0));
    expect_moved(before, bytes(bob), 0, bytes(alice), 0, 8);
    const auto between = bytes(bob);
    (void)run(request(SendOpcode::rdma_write_with_immediate, {alice.sge(8, 600)}, bob, 4000));
    expect_moved(between, bytes(bob), 4000, bytes(alice), 8, 600);
    const auto received = completions(bob);
    ASSERT_EQ(received.size(), 2u);
    for (const Completion& completion : received) {
        EXPECT_TRUE(completion.has_immediate);
        EXPECT_EQ(completion.immediate, 0xabcdu);
    }
    EXPECT_EQ(received[0].opcode, WcOpcode::receive);
    EXPECT_EQ(received[1].opcode, WcOpcode::receive_rdma_with_immediate);
    EXPECT_EQ(received[1].byte_length, 600u);
    EXPECT_EQ(received[1].id, 2u);
}

TEST_F(Operations, AtomicsReturnWhatWasThere)
{
    const std::uint64_t offset = 8; // bob's memory begins 8 bytes before a page
    const std::uint64_t first = word(bob, offset);
    SendWorkRequest work = {};
    const std::vector<Sge> sges = {alice.sge(100, 3), alice.sge(4090, 5)};
    work = request(SendOpcode::fetch_and_add, sges, bob, offset);
    work.compare_add = 5;
    Completion done = run(work);
    EXPECT_EQ(done.status, WcStatus::success);
    EXPECT_EQ(done.opcode, WcOpcode::fetch_and_add);
    EXPECT_EQ(done.byte_length, 8u);
    EXPECT_EQ(word(bob, offset), first + 5);
    const auto result = bytes(alice);
    std::uint64_t original = 0;
    std::memcpy(&original, result.data() + 100, 3);
    std::memcpy(reinterpret_cast<char*>(&original) + 3, result.data() + 4090, 5);
    EXPECT_EQ(original, first);

    work.opcode = SendOpcode::compare_and_swap;
    work.compare_add = first; // not what is there now
    work.swap = 99;
    done = run(work);
    EXPECT_EQ(done.opcode, WcOpcode::compare_and_swap);
    EXPECT_EQ(word(bob, offset), first + 5);
    work.compare_add = first + 5;
    EXPECT_EQ(run(work).status, WcStatus::success);
    EXPECT_EQ(word(bob, offset), 99u);
}

TEST_F(Operations, InlineDataAreTakenWhenPosted)
{
    std::array<std::byte, 64> data{};
    data.fill(std::byte{0x77});
    SendWorkRequest work = request(SendOpcode::send, {}, bob, 0);
    work.flags = SendFlags::signaled | SendFlags::inline_data;
    work.inline_bytes = data;
    ASSERT_EQ(hca.post_send(*alice.qp, work), 0); // waits for a receive
    data.fill(std::byte{0});
    receive(bob, {bob.sge(0, 64)});
    const auto arrived = bytes(bob);
    EXPECT_EQ(std::count(arrived.begin(), arrived.begin() + 64, std::byte{0x77}), 64);
    std::array<std::byte, 65> more{};
    work.inline_bytes = more;
    EXPECT_EQ(hca.post_send(*alice.qp, work), EINVAL);
    work.inline_bytes = data;
    work.opcode = SendOpcode::rdma_read;
    EXPECT_EQ(hca.post_send(*alice.qp, work), EINVAL) << "a read brings nothing along";
}

TEST_F(Operations, NoBytesNeedNoKey)
{
    SendWorkRequest work = request(SendOpcode::rdma_write, {}, bob, region_bytes + 5);
    work.rkey = RKey{0xdeadbeef};
    EXPECT_EQ(run(work).status, WcStatus::success);
    work.opcode = SendOpcode::rdma_read;
    EXPECT_EQ(run(work).status, WcStatus::success);
    const std::vector<Sge> nothing = {{Iova{1}, 0, LKey{0xdeadbeef}}};
    work.sges = nothing;
    EXPECT_EQ(run(work).status, WcStatus::success);
    receive(bob, {});
    work.opcode = SendOpcode::send;
    EXPECT_EQ(run(work).status, WcStatus::success);
    EXPECT_EQ(completions(bob).at(0).byte_length, 0u);
}

TEST_F(Operations, TheNullKeyReadsZerosAndSwallowsWrites)
{
    MkeySpec spec;
    spec.mode = KeyMode::null;
    spec.every_pd = true;
    spec.pd = pd;
    spec.rights = all_rights;
    spec.length = ~0ULL;
    const Mkey null = hca.create_mkey(spec);
    const Sge nowhere{Iova{0x1234}, 100, LKey{null.value}};
    const auto source = bytes(bob);
    EXPECT_EQ(run(request(SendOpcode::rdma_read, {nowhere, alice.sge(0, 100)}, bob, 0)).status, WcStatus::success);
    const auto here = bytes(alice);
    EXPECT_TRUE(std::equal(here.begin(), here.begin() + 100, source.begin() + 100));
    EXPECT_EQ(run(request(SendOpcode::rdma_write, {nowhere}, bob, 50)).status, WcStatus::success);
    const auto there = bytes(bob);
    EXPECT_EQ(std::count(there.begin() + 50, there.begin() + 150, std::byte{0}), 100);
    SendWorkRequest work = {};
    const std::vector<Sge> sges = {alice.sge(0, 8)};
    work = request(SendOpcode::fetch_and_add, sges, bob, 0);
    work.rkey = RKey{null.value};
    EXPECT_EQ(run(work).status, WcStatus::success);
    EXPECT_EQ(word(alice, 0), 0u);
}

TEST_F(Operations, SilentWorkCompletesSilentlyAndHoldsItsSlot)
{
    SendWorkRequest work = {};
    const std::vector<Sge> sges = {alice.sge(0, 8)};
    work = request(SendOpcode::rdma_write, sges, bob, 0);
    work.flags = SendFlags::none;
    for (int i = 0; i < 15; ++i)
        ASSERT_EQ(hca.post_send(*alice.qp, work), 0);
    EXPECT_TRUE(completions(alice).empty());
    work.flags = SendFlags::signaled;
    ASSERT_EQ(hca.post_send(*alice.qp, work), 0);
    EXPECT_EQ(hca.post_send(*alice.qp, work), ENOMEM) << "16 slots, and nothing was polled";
    EXPECT_EQ(completions(alice).size(), 1u);
    for (int i = 0; i < 16; ++i)
        ASSERT_EQ(hca.post_send(*alice.qp, work), 0) << "one completion freed them all";
    EXPECT_EQ(completions(alice).size(), 16u);
}

TEST_F(Operations, PostingHasLimits)
{
    const std::vector<Sge> five(5, alice.sge(0, 1));
    EXPECT_EQ(hca.post_send(*alice.qp, request(SendOpcode::send, five, bob, 0)), EINVAL);
    EXPECT_EQ(hca.post_receive(*bob.qp, {1, five}), EINVAL);
    EXPECT_EQ(hca.post_send(*alice.qp, request(static_cast<SendOpcode>(7), {}, bob, 0)), EINVAL);
    for (int i = 0; i < 16; ++i)
        EXPECT_EQ(hca.post_receive(*bob.qp, {}), 0);
    EXPECT_EQ(hca.post_receive(*bob.qp, {}), ENOMEM);
}

TEST_F(Operations, AQueuePairMayTalkToItself)
{
    const auto self = hca.create_qp(rc_options(alice));
    hca.modify_qp(*self, QpState::init, to_init_rc());
    hca.modify_qp(*self, QpState::rtr, to_rtr_rc(self->number()));
    hca.modify_qp(*self, QpState::rts, to_rts_rc());
    const auto source = bytes(alice);
    ASSERT_EQ(hca.post_receive(*self, {1, std::vector<Sge>{alice.sge(10, 50)}}), 0);
    ASSERT_EQ(hca.post_send(*self, request(SendOpcode::send, {alice.sge(0, 50)}, alice, 0)), 0);
    EXPECT_EQ(completions(alice).size(), 2u);
    const auto after = bytes(alice);
    EXPECT_TRUE(std::equal(source.begin(), source.begin() + 50, after.begin() + 10)) << "though they overlap";
    ASSERT_EQ(hca.post_receive(*self, {2, {}}), 0);
    ASSERT_EQ(hca.post_send(*self, request(SendOpcode::send, {alice.sge(0, 1)}, alice, 0)), 0);
    const auto failed = completions(alice);
    ASSERT_EQ(failed.size(), 2u);
    EXPECT_EQ(failed[0].status, WcStatus::local_length_error) << "the receive";
    EXPECT_EQ(failed[1].status, WcStatus::remote_invalid_request_error) << "the send";
}

TEST_F(Operations, KeysOverKeysMoveTheSameBytes)
{
    MkeySpec spec;
    spec.mode = KeyMode::klm;
    spec.pd = pd;
    spec.rights = KeyRights::remote_write | KeyRights::remote_read;
    spec.length = 5000;
    spec.entries = {{bob.lkey, Iova{bob.pages.start + 9000}, 3000}, {bob.lkey, Iova{bob.pages.start + 10}, 2000}};
    const Mkey indirect = hca.create_mkey(spec);
    auto expected = bytes(bob);
    const auto source = bytes(alice);
    std::copy_n(source.begin(), 3000, expected.begin() + 9000);
    std::copy_n(source.begin() + 3000, 2000, expected.begin() + 10);
    SendWorkRequest work = {};
    const std::vector<Sge> sges = {alice.sge(0, 5000)};
    work = request(SendOpcode::rdma_write, sges, bob, 0);
    work.rkey = RKey{indirect.value};
    work.remote_address = Iova{0};
    EXPECT_EQ(run(work).status, WcStatus::success);
    EXPECT_EQ(bytes(bob), expected);
}
