// SPDX-License-Identifier: BSD-3-Clause
#include "guest.hpp"

namespace mrz::queues {
namespace {

using layouts::CqeOpcode;
using layouts::CqeSyndrome;
using layouts::EventType;
using layouts::WqeOpcode;
using namespace std::chrono_literals;

//! A driver's side of a shared receive queue: a list through a ring, as mlx5's create_srq_kernel() makes it.
class DriverSrq {
  public:
    DriverSrq(GuestMemory& memory, unsigned log_entries)
        : memory_{memory},
          log_entries_{log_entries}, at_{memory.take(std::size_t{64} << log_entries)}, record_{memory.take(64)}
    {
        const std::uint32_t count = 1U << log_entries;
        for (std::uint32_t i = 0; i < count; ++i) {
            set_next(i, (i + 1) % count);
            free_.push_back(i);
        }
    }
    [[nodiscard]] WorkRing ring() const
    {
        return {pages_of(at_, std::size_t{64} << log_entries_), 0, log_entries_, 6, DmaAddress{record_}};
    }
    //! Returns the index of the entry.
    std::uint32_t post(std::uint64_t address, std::uint32_t bytes, std::uint32_t lkey)
    {
        const std::uint32_t index = free_.front();
        free_.erase(free_.begin());
        Bytes pieces;
        append_piece(pieces, address, bytes, lkey);
        append_piece(pieces, 0, 0, layouts::terminate_scatter_list_key);
        std::ranges::copy(pieces, memory_.at(at_ + 64 * index + 16, pieces.size()).begin());
        ++counter_;
        memory_.put32(record_, counter_);
        return index;
    }
    //! Gives an entry back: it comes after all that are free (mlx5_ib_free_srq_wqe()).
    void free(std::uint32_t index)
    {
        set_next(free_.empty() ? last_ : free_.back(), index);
        free_.push_back(index);
        last_ = index;
    }

  private:
    void set_next(std::uint32_t index, std::uint32_t next)
    {
        layouts::set(memory_.at(at_ + 64 * index, 16), layouts::wqe_srq_next_seg::next_wqe_index, next);
    }

    GuestMemory& memory_;
    unsigned log_entries_;
    std::uint64_t at_;
    std::uint64_t record_;
    std::vector<std::uint32_t> free_;
    std::uint32_t last_ = 0;
    std::uint16_t counter_ = 0;
};

class DataPathReceives : public DataPathTest {
  protected:
    DataPathReceives()
    {
        cqn = make_cq(cq);
        lkey = make_buffer(buffer, 1);
        srqn = path.create_srq({pd, srq.ring(), 0});
        alice.number = path.create_qp(alice.options(QpKind::rc, pd, cqn));
        QueuePairOptions options = bob.options(QpKind::rc, pd, cqn);
        options.receive.reset();
        options.srq = srqn;
        bob.number = path.create_qp(std::move(options));
        connect(alice.number, bob.number);
        connect(bob.number, alice.number);
    }
    void send()
    {
        Bytes entry;
        append_control(entry, WqeOpcode::send, false);
        append_piece(entry, buffer, 16, lkey);
        post(alice, ended(entry));
        work();
    }

    DriverCq cq{memory, 5};
    std::uint32_t cqn = 0;
    DriverSrq srq{memory, 3};
    std::uint32_t srqn = 0;
    DriverQp alice{memory, 4, 2};
    DriverQp bob{memory, 4, 2};
    std::uint64_t buffer = 0;
    std::uint32_t lkey = 0;
};

TEST_F(DataPathReceives, FollowTheListOfASharedQueue)
{
    // Taken and given back in another order, so that the list is none of the ring's order.
    std::vector<std::uint32_t> posted;
    for (int i = 0; i < 4; ++i)
        posted.push_back(srq.post(buffer + 4096, 64, lkey));
    std::vector<std::uint32_t> held;
    for (std::size_t round = 0; round < 100; ++round) {
        send();
        const auto received = cq.next();
        ASSERT_TRUE(received);
        ASSERT_EQ(opcode(*received), CqeOpcode::resp_send);
        ASSERT_EQ(field(*received, layouts::cqe64::wqe_counter), posted.front()) << "round " << round;
        held.push_back(posted.front());
        posted.erase(posted.begin());
        if (held.size() == 2) {
            srq.free(held[1]);
            srq.free(held[0]);
            held.clear();
        }
        posted.push_back(srq.post(buffer + 4096, 64, lkey));
    }
}

TEST_F(DataPathReceives, TellOnceWhenFewAreLeft)
{
    for (int i = 0; i < 4; ++i)
        srq.post(buffer + 4096, 64, lkey);
    path.arm_srq(srqn, 3);
    send();
    EXPECT_FALSE(eq.next()) << "three are left";
    send();
    const auto event = eq.next();
    ASSERT_TRUE(event);
    EXPECT_EQ(type(*event), EventType::srq_rq_limit);
    EXPECT_EQ(layouts::get(layouts::part(std::span{*event}, layouts::eqe::data), layouts::eqe_qp_srq::qp_srq_n),
              srqn);
    send();
    EXPECT_FALSE(eq.next());
    path.arm_srq(srqn, 2);
    work();
    EXPECT_TRUE(eq.next()) << "there is one left already";
}

TEST_F(DataPathReceives, ReportTheLastOneOfAQueuePairThatFails)
{
    path.modify_qp(bob.number, hca::QpState::err, {});
    work();
    const auto event = eq.next();
    ASSERT_TRUE(event);
    EXPECT_EQ(type(*event), EventType::srq_last_wqe);
}

TEST_F(DataPathReceives, AMessageThatIsTooLongFailsBothSides)
{
    srq.post(buffer + 4096, 8, lkey);
    send();
    const auto received = cq.next();
    ASSERT_TRUE(received);
    EXPECT_EQ(opcode(*received), CqeOpcode::resp_err);
    EXPECT_EQ(syndrome(*received), CqeSyndrome::local_length);
    const auto sent = cq.next();
    ASSERT_TRUE(sent);
    EXPECT_EQ(syndrome(*sent), CqeSyndrome::remote_inval_req);
}

TEST(ReceiveRings, TakeNothingFromAQueueThatHasLostCount)
{
    GuestMemory memory;
    DriverQp qp{memory, 2, 2};
    ReceiveRing ring{memory, *qp.options(QpKind::rc, {}, 0).receive};
    hca::ReceiveWork work;
    qp.say_receives(5); // of 4
    EXPECT_EQ(ring.take(work), hca::Popped::nothing);
    EXPECT_FALSE(ring.has_more());
    qp.say_receives(4);
    EXPECT_EQ(ring.take(work), hca::Popped::work);
}

TEST(ReceiveRings, EndTheListOfPiecesWhereItSays)
{
    Bytes list;
    append_piece(list, 0x1000, 10, 1);
    append_piece(list, 0x2000, 0, 2);
    append_piece(list, 0, 0, layouts::terminate_scatter_list_key);
    append_piece(list, 0x3000, 10, 3);
    std::vector<hca::Sge> sges;
    read_scatter_list(list, sges);
    ASSERT_EQ(sges.size(), 2u);
    EXPECT_EQ(sges[0].length, 10u);
    EXPECT_EQ(sges[1].length, 1U << 31) << "a count of 0 is 2 GiB";
}

} // namespace
} // namespace mrz::queues
