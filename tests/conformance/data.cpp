// SPDX-License-Identifier: BSD-3-Clause
#include "fixture.hpp"

#include <array>
#include <optional>
#include <random>

#include <sys/mman.h>
#include <unistd.h>

namespace mrz::test {
namespace {

class Data : public Conformance {
  protected:
    static constexpr std::size_t length = 64 * page;
    Buffer source{length, 3};
    Buffer target{length, 4};
    std::mt19937_64 random{11};

    std::uint64_t below(std::uint64_t limit) { return random() % limit; }
};
MRZ_EVERY_DEVICE(Data);

TEST_P(Data, OfWritesAndReadsArriveOverAllBreaksByteForByte)
{
    const Region near = domain.register_memory(source.bytes(), Access::local_write);
    const Region far = domain.register_memory(target.bytes(), all_rights);
    const Pair pair{domain, domain};
    for (int round = 0; round < 300; ++round) {
        const std::size_t from = below(length);
        const std::size_t to = below(length);
        // As often a few bytes around a page's end as pieces of any length.
        const std::size_t longest = std::min(length - from, length - to);
        const std::size_t count = 1 + below(round % 2 == 0 ? longest : std::min<std::size_t>(longest, 3 * page));
        const bool reads = round % 3 == 0;
        std::vector<std::byte> near_expected = source.copy();
        std::vector<std::byte> far_expected = target.copy();
        const auto near_at = near_expected.begin() + static_cast<std::ptrdiff_t>(from);
        const auto far_at = far_expected.begin() + static_cast<std::ptrdiff_t>(to);
        if (reads)
            std::copy_n(far_at, count, near_at);
        else
            std::copy_n(near_at, count, far_at);
        const Segment local = segment(near, from, count);
        const Completion done =
            pair.run(request(reads ? Opcode::rdma_read : Opcode::rdma_write, local, far.iova() + to, far.rkey()));
        ASSERT_EQ(done.status, WcStatus::success);
        ASSERT_EQ(done.id, 7u);
        ASSERT_EQ(done.opcode, reads ? WcOpcode::rdma_read : WcOpcode::rdma_write);
        ASSERT_TRUE(same(source.bytes(), near_expected)) << round;
        ASSERT_TRUE(same(target.bytes(), far_expected)) << round;
        // Something new to carry.
        source.bytes()[below(length)] ^= std::byte{0x55};
    }
}

TEST_P(Data, OfGatherListsIsSentInOrderAndScatteredInOrder)
{
    const Region near = domain.register_memory(source.bytes(), Access::local_write);
    const Region far = domain.register_memory(target.bytes(), Access::local_write);
    const Pair pair{domain, domain};
    const std::vector<std::byte> from = source.copy();
    std::vector<std::byte> expected = target.copy();
    const Segment gather[] = {segment(near, 4000, 200), segment(near, 10, 3), segment(near, 5 * page - 1, 2 * page)};
    const Segment scatter[] = {segment(far, 8 * page - 5, 10), segment(far, 0, 1), segment(far, 20 * page, 3 * page)};
    pair.far->post_receive({.id = 5, .segments = scatter});
    SendRequest send{.id = 6, .opcode = Opcode::send_with_immediate, .segments = gather, .immediate = 0x12345678};
    ASSERT_EQ(pair.run(send).status, WcStatus::success);
    const Completion received = Pair::wait(*pair.far);
    EXPECT_EQ(received.status, WcStatus::success);
    EXPECT_EQ(received.opcode, WcOpcode::receive);
    EXPECT_EQ(received.id, 5u);
    EXPECT_EQ(received.immediate, 0x12345678u);
    const std::size_t total = 200 + 3 + 2 * page;
    EXPECT_EQ(received.byte_length, total);
    std::vector<std::byte> message;
    for (const Segment& part : gather) {
        const auto begin = from.begin() + static_cast<std::ptrdiff_t>(part.iova - near.iova());
        message.insert(message.end(), begin, begin + part.length);
    }
    std::size_t taken = 0;
    for (const Segment& part : scatter) {
        const std::size_t count = std::min<std::size_t>(part.length, total - taken);
        std::copy_n(message.begin() + static_cast<std::ptrdiff_t>(taken), count,
                    expected.begin() + static_cast<std::ptrdiff_t>(part.iova - far.iova()));
        taken += count;
    }
    EXPECT_TRUE(same(target.bytes(), expected));
    EXPECT_TRUE(same(source.bytes(), from));
}

TEST_P(Data, ThatIsInlineIsCopiedWhenItIsPosted)
{
    const Region far = domain.register_memory(target.bytes(), all_rights);
    const Pair pair{domain, domain};
    std::array<std::byte, 60> message;
    message.fill(std::byte{0xa5});
    const Segment parts[] = {
        {Iova{reinterpret_cast<std::uintptr_t>(message.data())}, 50, LKey{0xdead}},
        {Iova{reinterpret_cast<std::uintptr_t>(message.data()) + 50}, 10, LKey{0xbeef}},
    };
    SendRequest write{.opcode = Opcode::rdma_write,
                      .segments = parts,
                      .inlined = true,
                      .remote_iova = far.iova() + (page - 30),
                      .rkey = far.rkey()};
    std::vector<std::byte> expected = target.copy();
    std::fill_n(expected.begin() + page - 30, 60, std::byte{0xa5});
    pair.near->post_send(write);
    message.fill(std::byte{0});
    EXPECT_EQ(Pair::wait(*pair.near).status, WcStatus::success);
    EXPECT_TRUE(same(target.bytes(), expected));
}

TEST_P(Data, OfWritesWithImmediateTellsTheReceiver)
{
    const Region near = domain.register_memory(source.bytes(), Access::local_read);
    const Region far = domain.register_memory(target.bytes(), all_rights);
    const Pair pair{domain, domain};
    pair.far->post_receive({.id = 9, .segments = {}});
    const Segment local = segment(near, 3, 5000);
    ASSERT_EQ(pair.status(request(Opcode::rdma_write_with_immediate, local, far.iova() + 1, far.rkey())),
              WcStatus::success);
    const Completion received = Pair::wait(*pair.far);
    EXPECT_EQ(received.status, WcStatus::success);
    EXPECT_EQ(received.opcode, WcOpcode::receive_rdma_with_immediate);
    EXPECT_EQ(received.immediate, 0xfeedu);
    EXPECT_EQ(received.byte_length, 5000u);
    EXPECT_TRUE(std::ranges::equal(target.bytes().subspan(1, 5000), source.bytes().subspan(3, 5000)));
}

TEST_P(Data, OfAtomicsIsTheOldValueAndTheNewOne)
{
    const Region near = domain.register_memory(source.bytes(), Access::local_write);
    const Region far = domain.register_memory(target.bytes(), all_rights);
    const Pair pair{domain, domain};
    const auto value = [](const Buffer& buffer, std::size_t offset) {
        std::uint64_t result = 0;
        std::memcpy(&result, buffer.bytes().data() + offset, sizeof result);
        return result;
    };
    const Segment back = segment(near, page - 4, 8); // over a break
    for (const std::size_t at : {std::size_t{0}, page - 8, page, length - 8}) {
        const std::uint64_t old = value(target, at);
        SendRequest add{.opcode = Opcode::atomic_fetch_and_add,
                        .segments = {&back, 1},
                        .remote_iova = far.iova() + at,
                        .rkey = far.rkey(),
                        .swap_or_add = 0x1'0000'0001};
        ASSERT_EQ(pair.status(add), WcStatus::success);
        EXPECT_EQ(value(source, page - 4), old);
        EXPECT_EQ(value(target, at), old + 0x1'0000'0001);
        SendRequest swap{.opcode = Opcode::atomic_compare_and_swap,
                         .segments = {&back, 1},
                         .remote_iova = far.iova() + at,
                         .rkey = far.rkey(),
                         .compare = old,
                         .swap_or_add = 42};
        ASSERT_EQ(pair.status(swap), WcStatus::success);
        EXPECT_EQ(value(source, page - 4), old + 0x1'0000'0001);
        EXPECT_EQ(value(target, at), old + 0x1'0000'0001) << "compared equal to what it is not";
        swap.compare = old + 0x1'0000'0001;
        ASSERT_EQ(pair.status(swap), WcStatus::success);
        EXPECT_EQ(value(target, at), 42u);
    }
}

TEST_P(Data, OfOneFrameUnderTwoAddressesIsOne)
{
    const int file = ::memfd_create("conformance", MFD_CLOEXEC);
    ASSERT_GE(file, 0);
    ASSERT_EQ(::ftruncate(file, static_cast<off_t>(4 * page)), 0);
    std::vector<std::span<std::byte>> views;
    for (int i = 0; i < 2; ++i) {
        void* const view = ::mmap(nullptr, 4 * page, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        ASSERT_NE(view, MAP_FAILED);
        views.push_back({static_cast<std::byte*>(view), 4 * page});
    }
    {
        const Region near = domain.register_memory(source.bytes(), Access::local_read);
        std::optional<Region> first = domain.register_memory(views[0], all_rights);
        const Region second = domain.register_memory(views[1], all_rights);
        const Segment local = segment(near, 0, 4 * page);
        const Pair pair{domain, domain};
        EXPECT_EQ(pair.status(request(Opcode::rdma_write, local, first->iova(), first->rkey())), WcStatus::success);
        EXPECT_TRUE(std::ranges::equal(views[1], source.bytes().first(4 * page)));
        // The first mapping goes; the other answers for the frames.
        first.reset();
        ASSERT_EQ(::munmap(views[0].data(), 4 * page), 0);
        source.bytes()[5] ^= std::byte{0xff};
        EXPECT_EQ(pair.status(request(Opcode::rdma_write, local, second.iova(), second.rkey())), WcStatus::success);
        EXPECT_TRUE(std::ranges::equal(views[1], source.bytes().first(4 * page)));
    }
    ::munmap(views[1].data(), 4 * page);
    ::close(file);
}

} // namespace
} // namespace mrz::test
