// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Completions that are made to come late, or not at all.
#include "guest.hpp"

namespace mrz::queues {
namespace {

using layouts::WqeOpcode;
using namespace std::chrono_literals;

class CompletionFaultsTest : public DataPathTest {
  protected:
    CompletionFaultsTest()
    {
        cqn = make_cq(cq);
        qp.number = path.create_qp(qp.options(QpKind::rc, pd, cqn));
        connect(qp.number, qp.number);
    }
    //! Work that completes with its own index.
    void do_something()
    {
        Bytes entry;
        append_control(entry, WqeOpcode::nop);
        post(qp, ended(entry));
        work();
    }
    //! The indices of all work that is told to be done.
    std::vector<std::uint64_t> told()
    {
        std::vector<std::uint64_t> indices;
        while (const auto entry = cq.next())
            indices.push_back(field(*entry, layouts::cqe64::wqe_counter));
        return indices;
    }
    using Indices = std::vector<std::uint64_t>;

    DriverCq cq{memory, 5};
    std::uint32_t cqn = 0;
    DriverQp qp{memory, 5, 2};
};

TEST_F(CompletionFaultsTest, LoseTheNextOnes)
{
    path.set_completion_fault({.lose = 2});
    for (int i = 0; i < 3; ++i)
        do_something();
    EXPECT_EQ(told(), Indices{2});
    EXPECT_EQ(path.faulty_completions().lost, 2U);
    EXPECT_EQ(path.query_qp(qp.number).state, hca::QpState::rts);
}

TEST_F(CompletionFaultsTest, DelayThemInTheirOrder)
{
    path.set_completion_fault({.delay = 10ms});
    do_something();
    pass(4ms);
    do_something();
    EXPECT_EQ(told(), Indices{});
    EXPECT_EQ(path.faulty_completions().waiting, 2U);
    ASSERT_TRUE(path.deadline());
    EXPECT_EQ(*path.deadline() - now, 6ms);
    pass(6ms);
    EXPECT_EQ(told(), Indices{0});
    pass(4ms);
    EXPECT_EQ(told(), Indices{1});
    EXPECT_FALSE(path.deadline());
}

TEST_F(CompletionFaultsTest, GiveWhatWaitsOnceTheyEnd)
{
    path.set_completion_fault({.delay = 1h});
    do_something();
    path.set_completion_fault({});
    do_something();
    EXPECT_EQ(told(), (Indices{0, 1}));
    EXPECT_EQ(path.faulty_completions().waiting, 0U);
}

TEST_F(CompletionFaultsTest, AreOfOneQueueIfItIsNamed)
{
    path.set_completion_fault({.lose = 5, .cqn = cqn + 1});
    do_something();
    EXPECT_EQ(told(), Indices{0});
    path.set_completion_fault({.lose = 1, .cqn = cqn});
    do_something();
    EXPECT_EQ(told(), Indices{});
}

TEST_F(CompletionFaultsTest, LeaveTheKernelsQueuesAloneUnlessOneIsNamed)
{
    DriverCq kernels{memory, 5};
    CompletionRingOptions options = kernels.options(eq.queue);
    options.kernels = true;
    const std::uint32_t number = path.create_cq(options);
    DriverQp its{memory, 5, 2};
    its.number = path.create_qp(its.options(QpKind::rc, pd, number));
    connect(its.number, its.number);
    const auto complete = [&] {
        Bytes entry;
        append_control(entry, WqeOpcode::nop);
        post(its, ended(entry));
        work();
        return kernels.next().has_value();
    };
    path.set_completion_fault({.lose = 5});
    EXPECT_TRUE(complete());
    path.set_completion_fault({.lose = 5, .cqn = number});
    EXPECT_FALSE(complete());
}

TEST_F(CompletionFaultsTest, ForgetWhatWaitsOfWhatIsNoMore)
{
    path.set_completion_fault({.delay = 10ms});
    do_something();
    path.modify_qp(qp.number, hca::QpState::reset, {});
    EXPECT_EQ(path.faulty_completions().waiting, 0U);
    qp.produced = 0;
    qp.tell_sends();
    connect(qp.number, qp.number);
    do_something();
    EXPECT_EQ(path.faulty_completions().waiting, 1U);
    path.destroy_qp(qp.number);
    path.destroy_cq(cqn);
    pass(1s);
    EXPECT_EQ(path.faulty_completions().waiting, 0U);
    EXPECT_EQ(told(), Indices{});
}

} // namespace
} // namespace mrz::queues
