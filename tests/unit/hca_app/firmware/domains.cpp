// SPDX-License-Identifier: BSD-3-Clause
#include "harness.hpp"

using namespace mrz;
using namespace mrz::firmware;
using namespace mrz::firmware::test;

namespace {

namespace l = mrz::layouts;

class TheDomains : public TheFirmware {
  protected:
    void SetUp() override { begin(); }
};

TEST_F(TheDomains, OfEverySortComeAndGo)
{
    struct Sort {
        std::uint16_t alloc;
        l::Field out;
        std::uint16_t dealloc;
        l::Field in;
    };
    for (const Sort& sort : {Sort{0x800, l::alloc_pd_out::pd, 0x801, l::dealloc_pd_in::pd},
                             Sort{0x802, l::alloc_uar_out::uar, 0x803, l::dealloc_uar_in::uar},
                             Sort{0x816, l::alloc_transport_domain_out::transport_domain, 0x817,
                                  l::dealloc_transport_domain_in::transport_domain},
                             Sort{0x80e, l::alloc_xrcd_out::xrcd, 0x80f, l::dealloc_xrcd_in::xrcd}}) {
        const Answer first = run(sort.alloc);
        const Answer second = run(sort.alloc);
        EXPECT_EQ(first.status, Status::ok) << log_;
        EXPECT_NE(first.get(sort.out), second.get(sort.out));
        EXPECT_EQ(run(sort.dealloc, {{sort.in, first.get(sort.out)}}).status, Status::ok) << log_;
        EXPECT_EQ(run(sort.dealloc, {{sort.in, first.get(sort.out)}}).status, Status::bad_res);
        EXPECT_EQ(run(sort.dealloc, {{sort.in, second.get(sort.out)}}).status, Status::ok) << log_;
    }
    EXPECT_EQ(firmware_.context().objects.count(), 0U);
}

TEST_F(TheDomains, PagesOfDoorbellsLieInTheBar)
{
    const Settings settings;
    std::uint64_t last = 0;
    for (;;) {
        const Answer uar = run(0x802);
        if (uar.status != Status::ok) {
            EXPECT_EQ(uar.status, Status::no_res);
            break;
        }
        last = uar.get(l::alloc_uar_out::uar);
        ASSERT_GE(last, settings.first_uar);
        ASSERT_LT((last + 1) * 4096, settings.bar_bytes + 1);
    }
    EXPECT_EQ((last + 1) * 4096, settings.bar_bytes);
}

TEST_F(TheDomains, OfAUserGoWithIt)
{
    const auto uid = static_cast<std::uint16_t>(make_uctx());
    const std::uint32_t pd = make_pd(uid);
    EXPECT_EQ(run(0x802, {}, 16, 16, 0, uid).status, Status::ok);
    const std::uint32_t kernels = make_pd();
    EXPECT_EQ(run(0xa06, {{l::destroy_uctx_in::uid, uid}}).status, Status::ok) << log_;
    EXPECT_EQ(firmware_.context().objects.count(), 1U);
    EXPECT_EQ(run(0x801, {{l::dealloc_pd_in::pd, pd}}).status, Status::bad_res);
    EXPECT_EQ(run(0x801, {{l::dealloc_pd_in::pd, kernels}}).status, Status::ok);
}

TEST_F(TheDomains, AUserStaysWhileTheKernelUsesWhatIsHis)
{
    const auto uid = static_cast<std::uint16_t>(make_uctx());
    const std::uint32_t pd = make_pd(uid);
    namespace mkc = l::mkc;
    const auto of_key = [](l::Field field) { return l::inside(l::create_mkey_in::memory_key_mkey_entry, field); };
    const Answer key = run(0x200, {{of_key(mkc::length64), 1}, {of_key(mkc::lr), 1}, {of_key(mkc::pd), pd}},
                           l::create_mkey_in::klm_pas_mtt.offset);
    ASSERT_EQ(key.status, Status::ok) << log_;
    EXPECT_EQ(run(0xa06, {{l::destroy_uctx_in::uid, uid}}).status, Status::bad_res_state)
        << "else who gets his number has his domain";
    EXPECT_EQ(run(0x202, {{l::destroy_mkey_in::mkey_index, key.get(l::create_mkey_out::mkey_index)}}).status,
              Status::ok);
    EXPECT_EQ(run(0xa06, {{l::destroy_uctx_in::uid, uid}}).status, Status::ok) << log_;
    EXPECT_EQ(firmware_.context().objects.count(), 0U);
}

TEST_F(TheDomains, CommandsInTheNameOfNobodyAreRefused)
{
    EXPECT_EQ(run(0x800, {}, 16, 16, 0, 99).status, Status::bad_res);
    const auto uid = static_cast<std::uint16_t>(make_uctx());
    EXPECT_EQ(run(0xa06, {{l::destroy_uctx_in::uid, uid}}).status, Status::ok);
    EXPECT_EQ(run(0x800, {}, 16, 16, 0, uid).status, Status::bad_res);
}

TEST_F(TheDomains, OneUserDoesNotTakeAnothers)
{
    const auto one = static_cast<std::uint16_t>(make_uctx());
    const auto other = static_cast<std::uint16_t>(make_uctx());
    const std::uint32_t pd = make_pd(one);
    EXPECT_EQ(run(0x801, {{l::dealloc_pd_in::pd, pd}}, 16, 16, 0, other).status, Status::bad_res);
    EXPECT_EQ(run(0x801, {{l::dealloc_pd_in::pd, pd}}, 16, 16, 0, one).status, Status::ok);
}

TEST_F(TheDomains, UsersMakeNoUsersAndMayNotDoWhatIsUnknown)
{
    const auto uid = static_cast<std::uint16_t>(make_uctx());
    EXPECT_EQ(run(0xa04, {}, l::create_uctx_in::bytes, 16, 0, uid).status, Status::bad_param);
    EXPECT_EQ(run(0xa04, {{l::inside(l::create_uctx_in::uctx, l::uctx::cap), 4}}, l::create_uctx_in::bytes).status,
              Status::bad_param);
    EXPECT_EQ(run(0xa06, {{l::destroy_uctx_in::uid, 0}}).status, Status::bad_res);
}

TEST_F(TheDomains, CommandsFailAsTheyAreTold)
{
    firmware_.set_fault(0x800, CommandFault{Status::lim, 0xabc, 2});
    for (int i = 0; i < 2; ++i) {
        const Answer answer = run(0x800);
        EXPECT_EQ(answer.status, Status::lim);
        EXPECT_EQ(answer.syndrome, 0xabcU);
    }
    EXPECT_EQ(run(0x800).status, Status::ok);
    firmware_.set_fault(0x800, CommandFault{});
    EXPECT_EQ(run(0x800).status, Status::internal_error);
    firmware_.set_fault(0x800, {});
    EXPECT_EQ(run(0x800).status, Status::ok);
}

} // namespace
