// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Two processes that are connected and under load, either of which is killed at some moment, again and again.
#include <mrzone/host.hpp>
#include <mrzone/region.hpp>

#include "support/in_child.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <sys/mman.h>
#include <unistd.h>

namespace mrz::test {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t operations = 10'000;
constexpr std::size_t length = 20'000;

//! What the processes tell each other besides.
struct Board {
    std::atomic<std::uint64_t> ended{}; // operations, of both
    std::array<char, 64> address{};
    std::atomic<bool> listening{};
};
struct Place {
    std::uint64_t iova;
    std::uint32_t rkey;
    std::uint32_t reserved;
};

//! One side: operations of all kinds until all have ended, or the peer has.
void run_side(Board& board, bool listens)
{
    const Domain domain = Domain::open("soft");
    std::vector<std::byte> memory(2 * length, listens ? std::byte{1} : std::byte{2});
    const auto descriptors = [] {
        return std::distance(std::filesystem::directory_iterator{"/proc/self/fd"},
                             std::filesystem::directory_iterator{});
    };
    const auto descriptors_before = descriptors();
    bool lost = false;
    {
        const Region region =
            domain.register_memory(memory, Access::local_write | Access::remote_write | Access::remote_read);
        const Place own{region.iova().value(), region.rkey().value, 0};
        ConnectOptions options;
        options.queue_pair.send_requests = 64;
        options.queue_pair.receive_requests = 64;
        options.private_data = std::as_bytes(std::span{&own, 1});
        options.timeout = 20s;
        const Segment whole{region.iova(), length, region.lkey()};
        const auto receives = [&whole](QueuePair& queue_pair) {
            for (int i = 0; i < 32; ++i)
                queue_pair.post_receive({.id = 1'000'000, .segments = {&whole, 1}});
        };
        std::unique_ptr<Connection> connection;
        if (listens) {
            const auto listener = domain.listen("localhost:0");
            listener->address().copy(board.address.data(), board.address.size() - 1);
            board.listening = true;
            const auto request = listener->wait(20s);
            ASSERT_TRUE(request);
            connection = request->accept(options, receives);
        } else {
            while (!board.listening)
                std::this_thread::yield();
            connection = domain.connect(board.address.data(), options, receives);
        }
        Place far{};
        std::memcpy(&far, connection->private_data().data(), sizeof far);
        QueuePair& queue_pair = connection->queue_pair();
        std::uint64_t posted = 0;
        std::uint64_t ended = 0;
        const auto deadline = std::chrono::steady_clock::now() + 120s;
        while (ended < operations && !lost) {
            ASSERT_LT(std::chrono::steady_clock::now(), deadline) << "it hangs after " << ended;
            for (; posted < operations && posted - ended < 32; ++posted) {
                static constexpr std::array opcodes = {Opcode::rdma_write, Opcode::rdma_read, Opcode::send};
                const Segment local{region.iova() + posted % length, length, region.lkey()};
                queue_pair.post_send({.id = posted,
                                      .opcode = opcodes[posted % opcodes.size()],
                                      .segments = {&local, 1},
                                      .remote_iova = Iova{far.iova},
                                      .rkey = RKey{far.rkey}});
            }
            Completion done;
            if (queue_pair.poll({&done, 1}) == 0)
                continue;
            if (done.status != WcStatus::success) {
                EXPECT_TRUE(done.status == WcStatus::retry_exceeded || done.status == WcStatus::flush_error)
                    << to_string(done.status);
                lost = true;
            } else if (done.opcode == WcOpcode::receive) {
                queue_pair.post_receive({.id = 1'000'000, .segments = {&whole, 1}});
            } else {
                EXPECT_EQ(done.id, ended);
                ++ended;
                board.ended.fetch_add(1);
            }
        }
        // Who is through goes only when the other is, so that only a kill ends one early.
        while (!lost && board.ended.load() < 2 * operations && connection->connected()) {
            Completion done;
            if (queue_pair.poll({&done, 1}) != 0 && done.status == WcStatus::success &&
                done.opcode == WcOpcode::receive)
                queue_pair.post_receive({.id = 1'000'000, .segments = {&whole, 1}});
        }
        if (lost) {
            while (connection->connected())
                std::this_thread::yield();
        }
    }
    EXPECT_EQ(descriptors(), descriptors_before);
    EXPECT_EQ(host::locked_memory().pinned.value_or(0), 0U);
}

class SoftKilled : public testing::Test {
  protected:
    void SetUp() override
    {
        void* const memory =
            ::mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        ASSERT_NE(memory, MAP_FAILED);
        board = new (memory) Board;
    }
    void TearDown() override { ::munmap(board, sizeof(Board)); }

    Board* board = nullptr;
};

TEST_F(SoftKilled, TenThousandOperationsOfEachSideEndWell)
{
    const pid_t listens = start_child([this] { run_side(*board, true); });
    const pid_t connects = start_child([this] { run_side(*board, false); });
    expect_success(listens);
    expect_success(connects);
    EXPECT_EQ(board->ended, 2 * operations);
}

TEST_F(SoftKilled, EitherSideUnderLoadLeavesTheOtherWithAnError)
{
    std::mt19937 random{std::random_device{}()};
    for (int round = 0; round < 12; ++round) {
        new (board) Board;
        const pid_t listens = start_child([this] { run_side(*board, true); });
        const pid_t connects = start_child([this] { run_side(*board, false); });
        const pid_t victim = round % 2 == 0 ? listens : connects;
        const pid_t survivor = round % 2 == 0 ? connects : listens;
        const std::uint64_t moment = 1 + random() % operations;
        SCOPED_TRACE("killed after " + std::to_string(moment));
        while (board->ended < moment && ::kill(victim, 0) == 0)
            std::this_thread::yield();
        ::kill(victim, SIGKILL);
        wait_for(victim);
        expect_success(survivor);
    }
}

} // namespace
} // namespace mrz::test
