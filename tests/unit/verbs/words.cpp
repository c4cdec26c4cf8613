// SPDX-License-Identifier: BSD-3-Clause
#include "words.hpp"

#include <gtest/gtest.h>

#include <cerrno>

namespace mrz::verbs {
namespace {

TEST(VerbsWords, OfRightsAreTheLeastThatGrantThem)
{
    EXPECT_EQ(to_verbs(Access::local_read, {}, true), 0U);
    EXPECT_EQ(to_verbs(Access::local_write | Access::remote_write, {}, true),
              static_cast<unsigned>(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE));
    EXPECT_EQ(to_verbs(Access::remote_read, {}, true), static_cast<unsigned>(IBV_ACCESS_REMOTE_READ));
    EXPECT_EQ(to_verbs(Access::local_write | Access::remote_atomic, {}, true),
              static_cast<unsigned>(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_ATOMIC));
}

TEST(VerbsWords, OfOptionsAskForWhatTheDeviceMay)
{
    constexpr unsigned relaxed = IBV_ACCESS_RELAXED_ORDERING;
    EXPECT_EQ(to_verbs(Access::local_read, {.ordering = Ordering::relaxed}, true), relaxed);
    EXPECT_EQ(to_verbs(Access::local_read, {.ordering = Ordering::best}, true), relaxed);
    EXPECT_EQ(to_verbs(Access::local_read, {.ordering = Ordering::best}, false), 0U);
    EXPECT_EQ(to_verbs(Access::local_read, {.ordering = Ordering::strict}, true), 0U);
    EXPECT_EQ(to_verbs(Access::local_read, {.paging = Paging::on_demand}, true),
              static_cast<unsigned>(IBV_ACCESS_ON_DEMAND));
}

TEST(VerbsWords, OfRequestsAreTheirFlags)
{
    EXPECT_EQ(to_send_flags({}), static_cast<unsigned>(IBV_SEND_SIGNALED));
    EXPECT_EQ(to_send_flags({.signaled = false, .inlined = true, .solicited = true, .fence = true}),
              static_cast<unsigned>(IBV_SEND_INLINE | IBV_SEND_SOLICITED | IBV_SEND_FENCE));
    EXPECT_EQ(to_verbs(Opcode::rdma_write_with_immediate), IBV_WR_RDMA_WRITE_WITH_IMM);
    EXPECT_EQ(to_verbs(Opcode::atomic_fetch_and_add), IBV_WR_ATOMIC_FETCH_AND_ADD);
    try {
        static_cast<void>(to_verbs(static_cast<Opcode>(77)));
        ADD_FAILURE();
    } catch (const Error& error) {
        EXPECT_EQ(error.error_number(), EINVAL);
    }
}

TEST(VerbsWords, OfCompletionsKeepEachErrorApart)
{
    EXPECT_EQ(from_verbs(IBV_WC_SUCCESS), WcStatus::success);
    EXPECT_EQ(from_verbs(IBV_WC_LOC_PROT_ERR), WcStatus::local_protection_error);
    EXPECT_EQ(from_verbs(IBV_WC_WR_FLUSH_ERR), WcStatus::flush_error);
    EXPECT_EQ(from_verbs(IBV_WC_REM_ACCESS_ERR), WcStatus::remote_access_error);
    EXPECT_EQ(from_verbs(IBV_WC_RETRY_EXC_ERR), WcStatus::retry_exceeded);
    EXPECT_EQ(from_verbs(IBV_WC_RNR_RETRY_EXC_ERR), WcStatus::rnr_retry_exceeded);
    for (int status = 1; status < 40; ++status) // newer ones too are errors
        EXPECT_NE(from_verbs(static_cast<ibv_wc_status>(status)), WcStatus::success) << status;
    EXPECT_EQ(from_verbs(IBV_WC_COMP_SWAP), WcOpcode::atomic);
    EXPECT_EQ(from_verbs(IBV_WC_RECV), WcOpcode::receive);
    EXPECT_EQ(from_verbs(IBV_WC_RECV_RDMA_WITH_IMM), WcOpcode::receive_rdma_with_immediate);
}

} // namespace
} // namespace mrz::verbs
