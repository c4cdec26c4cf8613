// SPDX-License-Identifier: BSD-3-Clause
#include "fixture.hpp"

#include <tuple>

namespace mrz::test {
namespace {

class Rights : public Conformance {};
MRZ_EVERY_DEVICE(Rights);

struct RemoteOperation {
    Opcode opcode;
    Access needs;
};
constexpr RemoteOperation remote_operations[] = {
    {Opcode::rdma_write, Access::remote_write},
    {Opcode::rdma_write_with_immediate, Access::remote_write},
    {Opcode::rdma_read, Access::remote_read},
    {Opcode::atomic_compare_and_swap, Access::remote_atomic},
    {Opcode::atomic_fetch_and_add, Access::remote_atomic},
};

TEST_P(Rights, OfPeersAreExactlyThoseGranted)
{
    const Region local = own();
    for (unsigned bits = 0; bits < 16; ++bits) {
        const auto access = static_cast<Access>(bits);
        if (grants(access, Access::remote_write) || grants(access, Access::remote_atomic))
            if (!grants(access, Access::local_write))
                continue;
        const Region far = expose(domain, access);
        for (const RemoteOperation& operation : remote_operations) {
            const Pair pair{domain, domain};
            const bool writes = operation.needs != Access::remote_read;
            pair.far->post_receive({.id = 1, .segments = {}});
            const std::vector<std::byte> far_before = far_memory.copy();
            const std::vector<std::byte> near_before = near_memory.copy();
            const Segment room = segment(local, 0, 8);
            // An address of 8 bytes' alignment, for atomics; what is there differs from what is compared with it.
            const std::size_t offset = 8 - far.iova().value() % 8;
            std::memset(far.bytes().data() + offset, 0, 8);
            const std::vector<std::byte> far_cleared = far_memory.copy();
            const WcStatus status = pair.status(request(operation.opcode, room, far.iova() + offset, far.rkey()));
            if (grants(access, operation.needs)) {
                EXPECT_EQ(status, WcStatus::success)
                    << to_string(access) << ", " << static_cast<int>(operation.opcode);
                EXPECT_EQ(far_memory.copy() != far_cleared, writes) << static_cast<int>(operation.opcode);
            } else {
                EXPECT_EQ(status, WcStatus::remote_access_error)
                    << to_string(access) << ", " << static_cast<int>(operation.opcode);
                EXPECT_EQ(far_memory.copy(), far_cleared);
                EXPECT_EQ(near_memory.copy(), near_before);
            }
            std::ranges::copy(far_before, far_memory.bytes().begin());
            std::ranges::copy(near_before, near_memory.bytes().begin());
        }
    }
}

TEST_P(Rights, OfTheOwnerToWriteAreNeededForWhatComesBack)
{
    const Region far = expose(domain, all_rights);
    for (const Access access : {Access::local_read, Access::remote_read, Access::local_write}) {
        const Region local = own(access);
        const bool may = grants(access, Access::local_write);
        const std::vector<std::byte> before = near_memory.copy();
        for (const Opcode opcode :
             {Opcode::rdma_read, Opcode::atomic_compare_and_swap, Opcode::atomic_fetch_and_add}) {
            const Pair pair{domain, domain};
            const Segment room = segment(local, 0, 8);
            const std::size_t offset = 8 - far.iova().value() % 8;
            const WcStatus status = pair.status(request(opcode, room, far.iova() + offset, far.rkey()));
            EXPECT_EQ(status == WcStatus::success, may) << to_string(status);
            if (!may) {
                EXPECT_THAT(status, testing::AnyOf(WcStatus::local_protection_error, WcStatus::local_access_error));
                EXPECT_EQ(near_memory.copy(), before);
            }
        }
        // Reading is implied.
        const Pair pair{domain, domain};
        const Segment room = segment(local, 0, 8);
        EXPECT_EQ(pair.status(request(Opcode::rdma_write, room, far.iova(), far.rkey())), WcStatus::success);
    }
}

TEST_P(Rights, OfTheOwnerToWriteAreNeededForReceives)
{
    const Region local = own();
    for (const Access access : {Access::local_read, Access::local_write}) {
        const Region far = expose(domain, access);
        const std::vector<std::byte> before = far_memory.copy();
        const Pair pair{domain, domain};
        const Segment from = segment(local, 0, 64);
        const Segment into = segment(far, 0, 64);
        pair.far->post_receive({.id = 3, .segments = {&into, 1}});
        const bool may = grants(access, Access::local_write);
        const WcStatus sent = pair.status(request(Opcode::send, from, {}, {}));
        EXPECT_EQ(sent, may ? WcStatus::success : WcStatus::remote_operation_error);
        const Completion received = Pair::wait(*pair.far);
        EXPECT_EQ(received.status, may ? WcStatus::success : WcStatus::local_protection_error);
        EXPECT_EQ(far_memory.copy() != before, may);
    }
}

} // namespace
} // namespace mrz::test
