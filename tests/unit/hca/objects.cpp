// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Objects of an adapter: their limits, users, ends.
#include "engine.hpp"

#include <cerrno>
#include <functional>
#include <string>

using namespace mrz;
using namespace mrz::hca;

namespace {

void expect_errno(int error, const std::function<void()>& command)
{
    try {
        command();
        ADD_FAILURE() << "was not refused";
    } catch (const Error& refusal) {
        EXPECT_EQ(refusal.error_number(), error) << refusal.what();
    }
}

} // namespace

using Objects = EngineTest;

TEST_F(Objects, InUseAreNotDestroyed)
{
    const Pd own = hca.alloc_pd();
    const auto srq = hca.create_srq({.pd = own});
    QpOptions options = rc_options(alice);
    options.pd = own;
    options.srq = srq;
    const auto qp = hca.create_qp(options);
    const Mkey key = hca.create_free_mkey(own);
    expect_errno(EBUSY, [&] { hca.destroy_cq(alice.cq); });
    expect_errno(EBUSY, [&] { hca.destroy_srq(srq); });
    expect_errno(EBUSY, [&] { hca.dealloc_pd(own); });
    hca.destroy_qp(qp);
    hca.destroy_cq(alice.cq);
    hca.destroy_srq(srq);
    expect_errno(EBUSY, [&] { hca.dealloc_pd(own); });
    hca.destroy_mkey(key);
    hca.dealloc_pd(own);
    expect_errno(ENOENT, [&] { hca.dealloc_pd(own); });
    expect_errno(ENOENT, [&] { (void)hca.create_free_mkey(own); });
}

TEST_F(Objects, DestroyedOnesAreRefused)
{
    connect();
    const auto qp = alice.qp;
    hca.destroy_qp(qp);
    expect_errno(ENOENT, [&] { hca.destroy_qp(qp); });
    expect_errno(ENOENT, [&] { hca.modify_qp(*qp, QpState::reset); });
    EXPECT_EQ(hca.post_send(*qp, {}), EINVAL);
    EXPECT_EQ(hca.post_receive(*qp, {}), EINVAL);
    const auto cq = hca.create_cq({});
    hca.destroy_cq(cq);
    QpOptions options = rc_options(alice);
    options.send_cq = cq;
    expect_errno(ENOENT, [&] { (void)hca.create_qp(options); });
    options.send_cq = nullptr;
    expect_errno(ENOENT, [&] { (void)hca.create_qp(options); });
    const auto srq = hca.create_srq({.pd = pd});
    EXPECT_EQ(hca.post_receive(*srq, {}), 0);
    hca.destroy_srq(srq);
    EXPECT_EQ(hca.post_receive(*srq, {}), EINVAL);
    EXPECT_EQ(srq->size(), 0u);
    MadeUpMemory other_memory;
    Hca other{other_memory};
    options.send_cq = other.create_cq({});
    expect_errno(ENOENT, [&] { (void)hca.create_qp(options); });
}

TEST_F(Objects, DestroyingTakesCompletionsAlong)
{
    connect();
    const std::vector<Sge> sges = {alice.sge(0, 8)};
    ASSERT_EQ(hca.post_send(*alice.qp, request(SendOpcode::rdma_write, sges, bob, 0)), 0);
    ASSERT_EQ(alice.cq->size(), 1u);
    hca.destroy_qp(alice.qp);
    alice.qp.reset();
    EXPECT_TRUE(completions(alice).empty());
}

TEST_F(Objects, NumbersAreNotUsedAgainAtOnce)
{
    const auto first = hca.create_qp(rc_options(alice));
    EXPECT_GE(first->number(), 2u) << "0 and 1 are taken by every adapter's management";
    hca.destroy_qp(first);
    EXPECT_NE(hca.create_qp(rc_options(alice))->number(), first->number());
}

TEST_F(Objects, FillingMovesAKeyBetweenDomains)
{
    const Pd other = hca.alloc_pd();
    const Mkey key = hca.create_free_mkey(pd);
    EXPECT_EQ(hca.fill_mkey(key, alice.pages.spec(other, all_rights)), key);
    expect_errno(EBUSY, [&] { hca.dealloc_pd(other); });
    EXPECT_EQ(hca.query_mkey(key).pd, other);
    hca.invalidate_mkey(key);
    hca.destroy_mkey(key);
    hca.dealloc_pd(other);
}

TEST_F(Objects, HaveLimits)
{
    MadeUpMemory small_memory;
    Hca small{small_memory,
              {.keys = {.keys = 1}, .max_pds = 1, .max_cqs = 1, .max_qps = 1, .max_srqs = 1, .max_completions = 8}};
    const Pd one = small.alloc_pd();
    expect_errno(ENOMEM, [&] { (void)small.alloc_pd(); });
    const auto cq = small.create_cq({.capacity = 8});
    expect_errno(ENOMEM, [&] { (void)small.create_cq({.capacity = 8}); });
    expect_errno(EINVAL, [&] { (void)small.create_cq({.capacity = 9}); });
    expect_errno(EINVAL, [&] { (void)small.create_cq({.capacity = 0}); });
    const auto srq = small.create_srq({.pd = one});
    expect_errno(ENOMEM, [&] { (void)small.create_srq({.pd = one}); });
    expect_errno(EINVAL, [&] { (void)small.create_srq({.pd = one, .max_work_requests = 1U << 16}); });
    QpOptions options{.pd = one, .send_cq = cq, .receive_cq = cq};
    const auto qp = small.create_qp(options);
    expect_errno(ENOMEM, [&] { (void)small.create_qp(options); });
    options.send.inline_bytes = 1025;
    expect_errno(EINVAL, [&] { (void)small.create_qp(options); });
}

TEST_F(Objects, CountersTellWhatWasDone)
{
    MadeUpMemory own_memory;
    Hca counting{own_memory, {.keys = {.keys = 1}, .mpt_cache = {1, 4}, .mtt_cache = {1, 4}}};
    const Pd own = counting.alloc_pd();
    const Pages pages = Pages::make(own_memory, 0x1000'0000, 12, 0, 2 * 4096, 1);
    const Mkey key = counting.create_mkey(pages.spec(own, all_rights));
    const auto cq = counting.create_cq({});
    const auto qp = counting.create_qp({.pd = own, .send_cq = cq, .receive_cq = cq});
    counting.modify_qp(*qp, QpState::init, to_init_rc());
    counting.modify_qp(*qp, QpState::rtr, to_rtr_rc(qp->number()));
    counting.modify_qp(*qp, QpState::rts, to_rts_rc());
    const std::vector<Sge> sges = {{Iova{0}, 4096, LKey{key.value}}};
    SendWorkRequest work;
    work.opcode = SendOpcode::rdma_write;
    work.sges = sges;
    work.remote_address = Iova{4096};
    work.rkey = RKey{key.value};
    for (int i = 0; i < 3; ++i)
        ASSERT_EQ(counting.post_send(*qp, work), 0);
    HcaCounters counters = counting.counters();
    EXPECT_EQ(counters.operations[static_cast<std::size_t>(SendOpcode::rdma_write)], 3u);
    EXPECT_EQ(counters.bytes, 3u * 4096);
    EXPECT_EQ(counters.mtt_cache.misses, 2u);
    EXPECT_EQ(counters.mtt_cache.hits, 4u);
    EXPECT_EQ(counters.mpt_cache.misses, 1u);
    EXPECT_EQ(counters.keys, 1u);
    EXPECT_EQ(counters.translations, 2u);
    // Another key with the same index is none that the caches know.
    counting.destroy_mkey(key);
    const Mkey next = counting.create_mkey(pages.spec(own, all_rights));
    ASSERT_EQ(index_of(next), index_of(key));
    const std::vector<Sge> next_sges = {{Iova{0}, 4096, LKey{next.value}}};
    work.sges = next_sges;
    work.rkey = RKey{next.value};
    ASSERT_EQ(counting.post_send(*qp, work), 0);
    counters = counting.counters();
    EXPECT_EQ(counters.translations, 2u);
    EXPECT_EQ(counters.mpt_cache.misses, 2u);
    EXPECT_EQ(counters.mtt_cache.misses, 4u);
}

TEST(Names, AreThoseOfVerbs)
{
    EXPECT_EQ(to_string(WcStatus::remote_access_error), "remote access error");
    EXPECT_EQ(to_string(WcStatus::flush_error), "Work Request Flushed Error");
    EXPECT_EQ(to_string(WcStatus::retry_exceeded_error), "transport retry counter exceeded");
    EXPECT_EQ(to_string(EventType::qp_access_error), "local access violation work queue error");
    EXPECT_EQ(static_cast<int>(WcStatus::general_error), 21);
    EXPECT_EQ(static_cast<int>(WcOpcode::receive), 128);
}

TEST_F(Objects, GeneralServicesHaveOneQueuePair)
{
    QpOptions options = rc_options(alice);
    options.general_services = true;
    expect_errno(EINVAL, [&] { (void)hca.create_qp(options); });
    options.type = QpType::ud;
    const auto qp = hca.create_qp(options);
    EXPECT_EQ(qp->number(), general_services_qpn);
    expect_errno(EBUSY, [&] { (void)hca.create_qp(options); });
    hca.destroy_qp(qp);
    EXPECT_EQ(hca.create_qp(options)->number(), general_services_qpn);
    EXPECT_EQ(hca.create_qp(rc_options(alice))->number(), 2u);
}
