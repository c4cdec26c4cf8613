// SPDX-License-Identifier: BSD-3-Clause
#include "fixture.hpp"

#include <optional>

namespace mrz::test {
namespace {

class Keys : public Conformance {
  protected:
    //! How a write and a read with these keys end; they must end alike. Nothing may have changed unless they succeed.
    WcStatus use(const Segment& local, Iova at, RKey rkey)
    {
        std::optional<WcStatus> ended;
        for (const Opcode opcode : {Opcode::rdma_write, Opcode::rdma_read}) {
            const std::vector<std::byte> far_before = far_memory.copy();
            const std::vector<std::byte> near_before = near_memory.copy();
            const Pair pair{domain, domain};
            const WcStatus status = pair.status(request(opcode, local, at, rkey));
            EXPECT_EQ(status, ended.value_or(status));
            ended = status;
            if (status != WcStatus::success) {
                EXPECT_TRUE(same(far_memory.bytes(), far_before));
                EXPECT_TRUE(same(near_memory.bytes(), near_before));
            }
        }
        return *ended;
    }
};
MRZ_EVERY_DEVICE(Keys);

class SoftKeys : public Keys {};
MRZ_DEVICES_OF(SoftKeys, "soft");

TEST_P(SoftKeys, DifferByValue)
{
    for (const Access access : {Access::local_read, Access::remote_read, all_rights}) {
        const Region region = own(access);
        EXPECT_NE(region.lkey().value, region.rkey().value);
    }
}

TEST_P(Keys, OfARegionOnlyPartOfWhichIsGoneServeTheRest)
{
    const Region local = own(all_rights);
    const Region far = expose(domain, all_rights);
    {
        const Region twice = expose(domain, all_rights);
        const Region part = domain.register_memory(far_memory.bytes().subspan(margin + 50, page), all_rights);
        EXPECT_EQ(use(segment(local, 0, 8), part.iova(), part.rkey()), WcStatus::success);
    }
    const Segment room = segment(local, 0, region_length);
    EXPECT_EQ(use(room, far.iova(), far.rkey()), WcStatus::success);
}

TEST_P(Keys, HaveASpaceOfTheirOwn)
{
    const Region local = own();
    const auto address = reinterpret_cast<std::uintptr_t>(far_memory.bytes().data()) + margin;
    const Iova iova{0x1'2340'0000 + address % page};
    const Region far =
        domain.register_memory(far_memory.bytes().subspan(margin, region_length), all_rights, {.iova = iova});
    EXPECT_EQ(use(segment(local, 0, region_length), iova, far.rkey()), WcStatus::success);
    EXPECT_EQ(use(segment(local, 0, 8), Iova{address}, far.rkey()), WcStatus::remote_access_error);
    EXPECT_EQ(use(segment(local, 0, 8), iova + region_length, far.rkey()), WcStatus::remote_access_error);
}

} // namespace
} // namespace mrz::test
