// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Several threads at once. Meant to be run under ThreadSanitizer too, so threads never share plain memory.
#include "engine.hpp"

#include <atomic>
#include <barrier>
#include <cstring>
#include <thread>

using namespace mrz;
using namespace mrz::hca;

namespace {

class Threads : public ::testing::Test {
  protected:
    Threads() : hca{memory}, pd{hca.alloc_pd()} {}

    struct End {
        std::shared_ptr<CompletionQueue> cq;
        std::shared_ptr<QueuePair> qp;
        Pages pages;
        Mkey key;
    };
    End make_end(std::uint64_t where, std::uint32_t depth = 64)
    {
        End end;
        end.cq = hca.create_cq({.capacity = 4096});
        end.pages = Pages::make(memory, where, 12, 0, 8 * 4096, 3);
        end.key = hca.create_mkey(end.pages.spec(pd, all_rights));
        end.qp = hca.create_qp({.pd = pd,
                                .send_cq = end.cq,
                                .receive_cq = end.cq,
                                .send = {.work_requests = depth, .sges = 2},
                                .receive = {.work_requests = depth, .sges = 2}});
        return end;
    }
    void connect(const End& a, const End& b)
    {
        for (const auto& [from, to] : {std::pair{&a, &b}, std::pair{&b, &a}}) {
            hca.modify_qp(*from->qp, QpState::init, to_init_rc());
            hca.modify_qp(*from->qp, QpState::rtr, to_rtr_rc(to->qp->number()));
            hca.modify_qp(*from->qp, QpState::rts, to_rts_rc());
        }
    }

    MadeUpMemory memory;
    Hca hca;
    Pd pd;
};

// Bytes [0, 4096) of an end are what it sends, the rest is where others write.
SendWorkRequest write_to(const RKey& rkey, const std::vector<Sge>& sges, std::uint64_t offset)
{
    SendWorkRequest work;
    work.opcode = SendOpcode::rdma_write;
    work.flags = SendFlags::signaled;
    work.sges = sges;
    work.remote_address = Iova{offset};
    work.rkey = rkey;
    return work;
}

} // namespace

TEST_F(Threads, TwoEndsSendToEachOtherWithoutDeadlock)
{
    constexpr int messages = 2000;
    End ends[2] = {make_end(0x1'0000'0000), make_end(0x2'0000'0000)};
    connect(ends[0], ends[1]);
    std::atomic<int> received = 0;
    const auto talk = [&](End& own) {
        const std::vector<Sge> out = {{Iova{0}, 100, LKey{own.key.value}}};
        const std::vector<Sge> in = {{Iova{4096}, 100, LKey{own.key.value}}};
        std::vector<Completion> done(16);
        int sent = 0;
        int posted = 0;
        int got = 0;
        int completed = 0;
        while (got < messages || completed < messages) {
            if (posted < messages && hca.post_receive(*own.qp, {1, in}) == 0)
                ++posted;
            if (sent < messages) {
                SendWorkRequest work;
                work.flags = SendFlags::signaled;
                work.sges = out;
                if (hca.post_send(*own.qp, work) == 0)
                    ++sent;
            }
            const std::size_t count = hca.poll(*own.cq, done);
            for (std::size_t i = 0; i < count; ++i) {
                ASSERT_EQ(done[i].status, WcStatus::success);
                ++(done[i].opcode == WcOpcode::receive ? got : completed);
            }
        }
        received += got;
    };
    std::thread other{[&] { talk(ends[1]); }};
    talk(ends[0]);
    other.join();
    EXPECT_EQ(received, 2 * messages);
}

TEST_F(Threads, AtomicsOfSeveralThreadsAndTheHostAddUp)
{
    constexpr int rounds = 3000;
    End target = make_end(0x1'0000'0000);
    auto& word = *reinterpret_cast<std::uint64_t*>(&memory.at(target.pages.dma(4096)));
    std::vector<End> ends;
    std::vector<End> peers;
    for (std::uint64_t i = 0; i < 2; ++i) {
        ends.push_back(make_end((2 + i) << 32));
        peers.push_back(make_end((6 + i) << 32));
        connect(ends[i], peers[i]);
    }
    std::vector<std::thread> threads;
    for (const End& end : ends) {
        threads.emplace_back([this, &end, &target] {
            const std::vector<Sge> sges = {{Iova{8}, 8, LKey{end.key.value}}};
            std::vector<Completion> done(1);
            for (int i = 0; i < rounds; ++i) {
                SendWorkRequest work = write_to(RKey{target.key.value}, sges, 4096);
                work.opcode = SendOpcode::fetch_and_add;
                work.compare_add = 3;
                ASSERT_EQ(hca.post_send(*end.qp, work), 0);
                ASSERT_EQ(hca.poll(*end.cq, done), 1u);
                ASSERT_EQ(done[0].status, WcStatus::success);
            }
        });
    }
    for (int i = 0; i < rounds; ++i)
        std::atomic_ref{word}.fetch_add(1);
    for (std::thread& thread : threads)
        thread.join();
    EXPECT_EQ(word, 7u * rounds);
}

TEST_F(Threads, ADestroyedKeyIsNotUsedAnyMore)
{
    End ends[2] = {make_end(0x1'0000'0000), make_end(0x2'0000'0000)};
    connect(ends[0], ends[1]);
    std::atomic<std::uint32_t> rkey = hca.create_mkey(ends[1].pages.spec(pd, KeyRights::remote_write)).value;
    std::atomic<bool> stop = false;
    std::atomic<int> written = 0;
    std::atomic<int> refused = 0;
    std::thread writer{[&] {
        const std::vector<Sge> sges = {{Iova{0}, 4096, LKey{ends[0].key.value}}};
        std::vector<Completion> done(4);
        while (!stop) {
            if (hca.post_send(*ends[0].qp, write_to(RKey{rkey}, sges, 8192)) != 0)
                continue;
            if (hca.poll(*ends[0].cq, done) == 0 || done[0].status == WcStatus::success) {
                ++written;
                continue;
            }
            ++refused;
            for (End& end : ends)
                hca.modify_qp(*end.qp, QpState::reset);
            connect(ends[0], ends[1]);
        }
    }};
    std::byte* const page = &memory.at(ends[1].pages.dma(8192));
    for (int round = 0; round < 300; ++round) {
        // Once the command has returned, nobody writes there: a plain write of ours is no race, and stays.
        hca.destroy_mkey(Mkey{rkey});
        const std::byte mark = static_cast<std::byte>(round | 1);
        std::memset(page, std::to_integer<int>(mark), 4096);
        for (int i = 0; i < 4096; ++i)
            ASSERT_EQ(page[i], mark);
        const int before = written;
        rkey = hca.create_mkey(ends[1].pages.spec(pd, KeyRights::remote_write)).value;
        while (written == before)
            std::this_thread::yield();
    }
    stop = true;
    writer.join();
    EXPECT_GE(written, 300);
}

TEST_F(Threads, CommandsPostingAndPollingAtOnce)
{
    End ends[2] = {make_end(0x1'0000'0000), make_end(0x2'0000'0000)};
    connect(ends[0], ends[1]);
    std::atomic<bool> stop = false;
    std::atomic<int> polled = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < 2; ++i) {
        threads.emplace_back([&, i] {
            const std::vector<Sge> sges = {{Iova{static_cast<unsigned>(i) * 64}, 64, LKey{ends[i].key.value}}};
            while (!stop) {
                // Both post to the first queue pair, to places of their own.
                (void)hca.post_send(*ends[0].qp,
                                    write_to(RKey{ends[1].key.value}, {{Iova{0}, 64, LKey{ends[0].key.value}}},
                                             4096 * (2 + static_cast<unsigned>(i))));
                (void)hca.post_receive(*ends[1].qp, {1, sges});
            }
        });
    }
    threads.emplace_back([&] {
        std::vector<Completion> done(32);
        while (!stop) {
            for (End& end : ends)
                polled += static_cast<int>(hca.poll(*end.cq, done));
            hca.progress();
        }
    });
    for (int round = 0; round < 200; ++round) {
        const Mkey key = hca.create_mkey(ends[0].pages.spec(pd, all_rights));
        const Mkey again = hca.reissue_mkey(key);
        EXPECT_EQ(hca.query_mkey(again).entry_count, 8u);
        const auto cq = hca.create_cq({});
        const auto qp = hca.create_qp({.pd = pd, .send_cq = cq, .receive_cq = cq});
        hca.modify_qp(*qp, QpState::init, to_init_rc());
        hca.destroy_qp(qp);
        hca.destroy_cq(cq);
        hca.destroy_mkey(again);
        if (round % 20 == 19) {
            hca.modify_qp(*ends[1].qp, QpState::err);
            for (End& end : ends)
                hca.modify_qp(*end.qp, QpState::reset);
            connect(ends[0], ends[1]);
        }
        const Hca::Pause pause = hca.pause();
    }
    const int before = polled;
    while (polled < before + 10)
        std::this_thread::yield();
    stop = true;
    for (std::thread& thread : threads)
        thread.join();
    EXPECT_EQ(hca.counters().keys, 2u);
}
