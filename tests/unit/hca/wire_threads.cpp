// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! A link that several threads work for at once, and one that ends under load.
#include "linked.hpp"

#include <atomic>
#include <chrono>
#include <thread>

using namespace mrz;
using namespace mrz::hca;
using namespace std::chrono_literals;

namespace {

class WireThreads : public LinkedTest {
  protected:
    void SetUp() override { connect(); }

    //! Works for a link all the time.
    class Keeper {
      public:
        explicit Keeper(End& end) : end_{end}, thread_{[this] { work(); }} {}
        Keeper(const Keeper&) = delete;
        Keeper& operator=(const Keeper&) = delete;
        ~Keeper()
        {
            stop_ = true;
            thread_.join();
        }

      private:
        void work()
        {
            while (!stop_) {
                end_.link->hear();
                end_.hca.progress(*end_.link, true);
                std::this_thread::yield();
            }
        }
        End& end_;
        std::atomic<bool> stop_ = false;
        std::thread thread_;
    };

    //! Keeps requests under way until \p count have ended, or one fails; returns how many succeeded.
    static std::uint64_t run(End& from, const End& to, std::uint64_t count)
    {
        std::uint64_t posted = 0;
        std::uint64_t ended = 0;
        const auto deadline = std::chrono::steady_clock::now() + 60s;
        while (ended < count && std::chrono::steady_clock::now() < deadline) {
            for (; posted < count && posted - ended < 32; ++posted) {
                static constexpr std::array opcodes = {SendOpcode::rdma_write, SendOpcode::rdma_read};
                if (from.post(opcodes[posted % 2], from.sge(posted % 64 * 1000, 20'000), to, 200'000 + posted % 50,
                              posted) != 0)
                    break;
            }
            from.hca.progress(*from.link);
            for (const Completion& completion : from.completions()) {
                if (completion.status != WcStatus::success)
                    return ended;
                ++ended;
            }
        }
        return ended;
    }
};

} // namespace

TEST_F(WireThreads, PollersAndKeepersOfBothEndsShareTheWork)
{
    const Keeper near_keeper{near};
    const Keeper far_keeper{far};
    std::thread other{[this] { EXPECT_EQ(run(far, near, 2000), 2000u); }};
    EXPECT_EQ(run(near, far, 2000), 2000u);
    other.join();
}

TEST_F(WireThreads, KeysComeAndGoUnderLoad)
{
    const Keeper far_keeper{far};
    std::atomic<bool> stop = false;
    std::thread commands{[&] {
        while (!stop) {
            const Mkey key = far.hca.create_mkey(far.pages.spec(far.pd, KeyRights::remote_write));
            const Mkey again = far.hca.reissue_mkey(key);
            far.hca.destroy_mkey(again);
        }
    }};
    EXPECT_EQ(run(near, far, 2000), 2000u);
    stop = true;
    commands.join();
}

TEST_F(WireThreads, ALinkThatEndsUnderLoadEndsAllThatIsUnderWay)
{
    const Keeper near_keeper{near};
    const Keeper far_keeper{far};
    std::thread end{[this] {
        while (near.hca.counters().bytes < 5'000'000)
            std::this_thread::yield();
        far.link->close("enough");
    }};
    EXPECT_LT(run(near, far, 1'000'000), 1'000'000u);
    end.join();
    EXPECT_EQ(near.qp->state(), QpState::err);
}

TEST_F(WireThreads, QueuePairsAreDestroyedUnderLoad)
{
    const Keeper near_keeper{near};
    const Keeper far_keeper{far};
    std::thread end{[this] {
        while (near.hca.counters().bytes < 2'000'000)
            std::this_thread::yield();
        far.hca.destroy_qp(far.qp);
    }};
    EXPECT_LT(run(near, far, 1'000'000), 1'000'000u);
    end.join();
    EXPECT_EQ(near.qp->state(), QpState::err);
}

// Queue pairs that ask nothing outlive their link, and may begin to ask at any moment of its end.
TEST(WireEnds, WhatIsPostedMeanwhileEndsToo)
{
    constexpr std::size_t many = 400;
    for (int round = 0; round < 50; ++round) {
        HcaOptions options;
        options.idle_outlive_links = true;
        End near{1, 1 << 16, options};
        const End far{2, 1 << 16};
        auto [near_wire, far_wire] = make_wires();
        near.link = std::make_shared<Link>(std::move(near_wire));
        std::vector<std::shared_ptr<QueuePair>> qps;
        for (std::uint32_t peer = 2; peer < 2 + many; ++peer) {
            near.make_qp(2);
            near.connect(peer);
            qps.push_back(near.qp);
        }
        std::atomic<bool> begin = false;
        std::thread other{[&] {
            while (!begin)
                std::this_thread::yield();
            for (const std::shared_ptr<QueuePair>& qp : qps) {
                near.qp = qp;
                EXPECT_EQ(near.post(SendOpcode::rdma_write, near.sge(0, 8), far, 0), 0);
            }
        }};
        begin = true;
        near.link->lost();
        while (!near.link->ended())
            near.hca.progress(*near.link);
        other.join();
        EXPECT_EQ(near.completions().size(), many);
    }
}
