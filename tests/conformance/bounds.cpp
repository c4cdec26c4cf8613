// SPDX-License-Identifier: BSD-3-Clause
#include "fixture.hpp"

namespace mrz::test {
namespace {

class Bounds : public Conformance {};
MRZ_EVERY_DEVICE(Bounds);

constexpr std::uint64_t top = ~std::uint64_t{0};

struct Case {
    const char* what;
    std::uint64_t offset; //!< From the region's first byte; may wrap.
    std::size_t length;
    bool within;
};

std::vector<Case> cases(std::size_t length)
{
    return {
        {"first byte", 0, 1, true},
        {"last byte", length - 1, 1, true},
        {"all of it", 0, length, true},
        {"one byte before", top, 1, false},
        {"from one byte before", top, 10, false},
        {"one past the last byte", length, 1, false},
        {"over the end by one", length - 9, 10, false},
        {"one byte more than all of it", 0, length + 1, false},
        {"a page before", std::uint64_t{0} - 4096, 8, false},
        {"a page behind", length + 4096, 8, false},
    };
}

TEST_P(Bounds, OfPeersAreTheRegionsThoughEntriesCoverMore)
{
    const Region local = own();
    const Region far = expose(domain, all_rights);
    for (const Case& test : cases(region_length)) {
        for (const Opcode opcode : {Opcode::rdma_write, Opcode::rdma_write_with_immediate, Opcode::rdma_read}) {
            const Pair pair{domain, domain};
            pair.far->post_receive({.id = 1, .segments = {}});
            const std::vector<std::byte> far_before = far_memory.copy();
            const std::vector<std::byte> near_before = near_memory.copy();
            const Segment room = segment(local, 100, test.length);
            const WcStatus status = pair.status(request(opcode, room, far.iova() + test.offset, far.rkey()));
            EXPECT_EQ(status, test.within ? WcStatus::success : WcStatus::remote_access_error)
                << test.what << ", " << static_cast<int>(opcode);
            // Exactly the bytes named, and none else on either side.
            std::vector<std::byte> far_expected = far_before;
            std::vector<std::byte> near_expected = near_before;
            const auto far_at = static_cast<std::ptrdiff_t>(margin + test.offset);
            if (test.within && opcode == Opcode::rdma_read)
                std::copy_n(far_before.begin() + far_at, test.length, near_expected.begin() + 100);
            else if (test.within)
                std::copy_n(near_before.begin() + 100, test.length, far_expected.begin() + far_at);
            EXPECT_EQ(far_memory.copy(), far_expected) << test.what;
            EXPECT_EQ(near_memory.copy(), near_expected) << test.what;
            std::ranges::copy(near_before, near_memory.bytes().begin());
        }
    }
}

TEST_P(Bounds, OfPeersHoldForAtomicsAndTheirAlignment)
{
    const Region local = own();
    // Begins and ends at multiples of 8, so that one before and one past are aligned too.
    const auto begin = reinterpret_cast<std::uintptr_t>(far_memory.bytes().data()) + margin;
    const std::size_t start = margin + (8 - begin % 8) % 8;
    const std::size_t length = 2 * page;
    const Region far = domain.register_memory(far_memory.bytes().subspan(start, length), all_rights);
    struct AtomicCase {
        std::uint64_t offset;
        WcStatus expected;
    };
    for (const Opcode opcode : {Opcode::atomic_compare_and_swap, Opcode::atomic_fetch_and_add}) {
        for (const AtomicCase& test : {AtomicCase{0, WcStatus::success}, AtomicCase{length - 8, WcStatus::success},
                                       AtomicCase{std::uint64_t{0} - 8, WcStatus::remote_access_error},
                                       AtomicCase{length, WcStatus::remote_access_error},
                                       AtomicCase{4, WcStatus::remote_invalid_request_error}}) {
            const Pair pair{domain, domain};
            const std::vector<std::byte> before = far_memory.copy();
            const Segment room = segment(local, 0, 8);
            EXPECT_EQ(pair.status(request(opcode, room, far.iova() + test.offset, far.rkey())), test.expected)
                << test.offset;
            if (test.expected != WcStatus::success) {
                EXPECT_EQ(far_memory.copy(), before);
            }
        }
    }
}

TEST_P(Bounds, HoldForAddressesThatWrap)
{
    const Region local = own();
    const Region far = expose(domain, all_rights);
    for (const Opcode opcode : {Opcode::rdma_write, Opcode::rdma_read}) {
        for (const std::uint64_t at : {top, top - 7, std::uint64_t{0}}) {
            const Pair pair{domain, domain};
            const Segment room = segment(local, 0, 64);
            EXPECT_EQ(pair.status(request(opcode, room, Iova{at}, far.rkey())), WcStatus::remote_access_error);
            const Pair another{domain, domain};
            const Segment wrapping{Iova{at}, 64, local.lkey()};
            EXPECT_EQ(another.status(request(opcode, wrapping, far.iova(), far.rkey())),
                      WcStatus::local_protection_error);
        }
    }
}

TEST_P(Bounds, OfTheOwnerAreTheRegions)
{
    const Region local = expose(domain, Access::local_write);
    const Region far = domain.register_memory(near_memory.bytes(), all_rights);
    for (const Case& test : cases(region_length)) {
        for (const Opcode opcode : {Opcode::rdma_write, Opcode::rdma_read, Opcode::send}) {
            const Pair pair{domain, domain};
            const Segment whole = segment(far, 0, far.bytes().size());
            pair.far->post_receive({.id = 1, .segments = {&whole, 1}});
            const std::vector<std::byte> before = far_memory.copy();
            const std::vector<std::byte> other_before = near_memory.copy();
            const Segment room{local.iova() + test.offset, static_cast<std::uint32_t>(test.length), local.lkey()};
            EXPECT_EQ(pair.status(request(opcode, room, far.iova(), far.rkey())),
                      test.within ? WcStatus::success : WcStatus::local_protection_error)
                << test.what << ", " << static_cast<int>(opcode);
            if (!test.within) {
                EXPECT_EQ(far_memory.copy(), before) << test.what;
                EXPECT_EQ(near_memory.copy(), other_before) << test.what;
            }
        }
    }
}

TEST_P(Bounds, DoNotCountForNoBytes)
{
    const Region local = own();
    const Region far = expose(domain, all_rights);
    const std::vector<std::byte> before = far_memory.copy();
    for (const Opcode opcode : {Opcode::rdma_write, Opcode::rdma_read}) {
        const Pair pair{domain, domain};
        SendRequest nothing = request(opcode, {}, far.iova() + region_length, far.rkey());
        nothing.segments = {};
        EXPECT_EQ(pair.status(nothing), WcStatus::success);
        EXPECT_EQ(far_memory.copy(), before);
    }
}

} // namespace
} // namespace mrz::test
