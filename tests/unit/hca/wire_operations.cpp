// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Operations between two engines that are joined by a wire.
#include "linked.hpp"

#include <algorithm>
#include <cstring>

using namespace mrz;
using namespace mrz::hca;

namespace {

class WireOperations : public LinkedTest {
  protected:
    void SetUp() override { connect(); }

    static void expect_moved(const std::vector<std::byte>& from, std::uint64_t from_offset,
                             const std::vector<std::byte>& before, const std::vector<std::byte>& after,
                             std::uint64_t to_offset, std::uint64_t length)
    {
        std::vector<std::byte> expected = before;
        std::copy_n(from.begin() + static_cast<std::ptrdiff_t>(from_offset), length,
                    expected.begin() + static_cast<std::ptrdiff_t>(to_offset));
        EXPECT_TRUE(expected == after);
    }
};

} // namespace

TEST_F(WireOperations, WritesMoveJustTheirBytes)
{
    for (const std::uint32_t length : {0U, 1U, 63U, 64U, 4096U, 16384U, 16385U, 1'000'001U, 4'000'000U}) {
        const auto before = far.bytes();
        ASSERT_EQ(near.post(SendOpcode::rdma_write, near.sge(17, length), far, 1000), 0);
        settle();
        EXPECT_EQ(only_status(near), WcStatus::success);
        expect_moved(near.bytes(), 17, before, far.bytes(), 1000, length);
        far.pages.fill(far.memory, 99);
    }
}

TEST_F(WireOperations, ReadsBringBackJustTheirBytes)
{
    for (const std::uint32_t length : {0U, 1U, 63U, 64U, 4096U, 16384U, 16385U, 1'000'001U, 4'000'000U}) {
        const auto before = near.bytes();
        ASSERT_EQ(near.post(SendOpcode::rdma_read, near.sge(17, length), far, 1000), 0);
        settle();
        const auto all = near.completions();
        ASSERT_EQ(all.size(), 1u);
        EXPECT_EQ(all[0].status, WcStatus::success);
        EXPECT_EQ(all[0].byte_length, length);
        expect_moved(far.bytes(), 1000, before, near.bytes(), 17, length);
        near.pages.fill(near.memory, 99);
    }
}

TEST_F(WireOperations, SendsFillReceivesAndTellTheirLength)
{
    for (const std::uint32_t length : {0U, 1U, 4096U, 16385U, 2'000'000U}) {
        const auto before = far.bytes();
        ASSERT_EQ(far.receive(far.sge(500, 3'000'000), 7), 0);
        ASSERT_EQ(near.post(SendOpcode::send_with_immediate, near.sge(17, length), far, 0), 0);
        settle();
        EXPECT_EQ(only_status(near), WcStatus::success);
        const auto all = far.completions();
        ASSERT_EQ(all.size(), 1u);
        EXPECT_EQ(all[0].status, WcStatus::success);
        EXPECT_EQ(all[0].id, 7u);
        EXPECT_EQ(all[0].byte_length, length);
        EXPECT_EQ(all[0].immediate, 0xabcdU);
        EXPECT_EQ(all[0].source_qpn, near.qp->number());
        expect_moved(near.bytes(), 17, before, far.bytes(), 500, length);
    }
}

TEST_F(WireOperations, AWriteWithImmediateTakesAReceiveAndLeavesItsMemory)
{
    ASSERT_EQ(far.receive(far.sge(0, 16), 7), 0);
    const auto before = far.bytes();
    ASSERT_EQ(near.post(SendOpcode::rdma_write_with_immediate, near.sge(0, 100'000), far, 5000), 0);
    settle();
    EXPECT_EQ(only_status(near), WcStatus::success);
    const auto all = far.completions();
    ASSERT_EQ(all.size(), 1u);
    EXPECT_EQ(all[0].opcode, WcOpcode::receive_rdma_with_immediate);
    EXPECT_EQ(all[0].byte_length, 100'000u);
    expect_moved(near.bytes(), 0, before, far.bytes(), 5000, 100'000);
}

TEST_F(WireOperations, AtomicsBringBackWhatWasThere)
{
    const std::uint64_t aligned = 8 - far.pages.start % 8;
    std::uint64_t was = 0;
    const auto far_bytes = far.bytes();
    std::memcpy(&was, far_bytes.data() + aligned, sizeof was);
    for (std::uint64_t i = 0; i < 3; ++i) {
        ASSERT_EQ(near.post(SendOpcode::fetch_and_add, near.sge(8, 8), far, aligned), 0);
        settle();
        EXPECT_EQ(only_status(near), WcStatus::success);
        std::uint64_t original = 0;
        const auto bytes = near.bytes();
        std::memcpy(&original, bytes.data() + 8, sizeof original);
        EXPECT_EQ(original, was + i);
    }
}

TEST_F(WireOperations, ManyAreUnderWayAtOnceAndCompleteInOrder)
{
    for (std::uint64_t id = 0; id < 60; ++id) {
        static constexpr std::array opcodes = {SendOpcode::rdma_write, SendOpcode::rdma_read,
                                               SendOpcode::fetch_and_add};
        const SendOpcode opcode = opcodes[id % 3];
        const std::uint32_t length = is_atomic(opcode) ? 8 : 50'000;
        ASSERT_EQ(near.post(opcode, near.sge(id * 64'000, length), far,
                            is_atomic(opcode) ? 8 - far.pages.start % 8 : 0, id),
                  0);
    }
    EXPECT_TRUE(near.completions().empty());
    settle();
    const auto all = near.completions();
    ASSERT_EQ(all.size(), 60u);
    for (std::uint64_t id = 0; id < 60; ++id) {
        EXPECT_EQ(all[id].id, id);
        EXPECT_EQ(all[id].status, WcStatus::success);
    }
}

TEST_F(WireOperations, BothDirectionsAtOnceDoNotStopEachOther)
{
    for (std::uint64_t id = 0; id < 60; ++id) {
        ASSERT_EQ(near.post(id % 2 == 0 ? SendOpcode::rdma_write : SendOpcode::rdma_read, near.sge(0, 1'000'000), far,
                            2'000'000, id),
                  0);
        ASSERT_EQ(far.post(id % 2 == 0 ? SendOpcode::rdma_read : SendOpcode::rdma_write, far.sge(0, 1'000'000), near,
                           2'000'000, id),
                  0);
    }
    settle();
    EXPECT_EQ(near.completions().size(), 60u);
    EXPECT_EQ(far.completions().size(), 60u);
}
