// SPDX-License-Identifier: BSD-3-Clause
// The port's own queue pair, to which requests for connections go.
#include "harness.hpp"

#include "layouts/qpc.hpp"

namespace mrz::ethernet::test {
namespace {

class GeneralServices : public ThePort {
  protected:
    GeneralServices() { qps_.add_to(firmware_.commands()); }
    ~GeneralServices() override { firmware_.reset(); }

    //! CREATE_QP of a service type, with receives and nothing to send.
    std::vector<std::byte> qp_input(std::uint64_t service, std::uint16_t uid = 0) const
    {
        const auto in = [](l::Field field) { return l::inside(l::create_qp_in::qpc, field); };
        std::vector<std::byte> bytes = firmware::test::input(0x500, 0, uid, l::create_qp_in::pas.offset,
                                                             {{in(l::qpc::st), service},
                                                              {in(l::qpc::pd), pd_},
                                                              {in(l::qpc::no_sq), 1},
                                                              {in(l::qpc::log_rq_size), 3},
                                                              {in(l::qpc::log_rq_stride), 2},
                                                              {in(l::qpc::cqn_snd), cq_},
                                                              {in(l::qpc::cqn_rcv), cq_},
                                                              {in(l::qpc::dbr_addr), rq_record}});
        add_page(bytes, rq_at);
        return bytes;
    }

    queues::QueuePairCommands qps_{parts_};
};

} // namespace

TEST_F(GeneralServices, AreQueuePairOneOfWhichThereIsOne)
{
    EXPECT_EQ(number(good(qp_input(0x8)), l::create_qp_out::qpn), 1u);
    EXPECT_EQ(run(qp_input(0x8)).status, Status::res_busy);
    EXPECT_EQ(destroy(0x501, 1), Status::ok);
    EXPECT_EQ(number(good(qp_input(0x8)), l::create_qp_out::qpn), 1u);
    EXPECT_GT(number(good(qp_input(0x7)), l::create_qp_out::qpn), 1u) << "the subnet's management is nobody's";
    EXPECT_GT(number(good(qp_input(0x2)), l::create_qp_out::qpn), 1u);
}

TEST_F(GeneralServices, AreTheKernels)
{
    const auto uid = static_cast<std::uint16_t>(make_uctx());
    EXPECT_EQ(run(qp_input(0x8, uid)).status, Status::bad_param);
    EXPECT_NE(log_.find("kernel's"), std::string::npos) << log_;
}

} // namespace mrz::ethernet::test
