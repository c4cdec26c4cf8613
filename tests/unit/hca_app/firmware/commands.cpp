// SPDX-License-Identifier: BSD-3-Clause
#include "firmware/command.hpp"

#include "layouts/command.hpp"

#include <mrzone/base.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cerrno>
#include <new>
#include <vector>

using namespace mrz;
using namespace mrz::firmware;

namespace {

struct Answer {
    Status status;
    std::uint32_t syndrome;
    std::vector<std::byte> out;
};

class TheCommands : public testing::Test {
  protected:
    TheCommands()
    {
        set_log_sink([this](Severity, std::string_view line) { log_ += std::string{line} + "\n"; });
    }
    ~TheCommands() override { set_log_sink({}); }

    Answer run(std::uint16_t opcode, std::size_t in_bytes = 16, std::size_t out_bytes = 16)
    {
        std::vector<std::byte> in(in_bytes);
        std::vector<std::byte> out(out_bytes, std::byte{0xee});
        layouts::set(in, layouts::command_in::opcode, opcode);
        layouts::set(in, layouts::command_in::uid, 7);
        layouts::set(in, layouts::command_in::op_mod, 3);
        commands_.run(in, out);
        return {static_cast<Status>(layouts::get(out, layouts::command_out::status)),
                static_cast<std::uint32_t>(layouts::get(out, layouts::command_out::syndrome)), out};
    }

    Commands commands_;
    std::string log_;
};

TEST_F(TheCommands, UnknownOpcodeIsRefusedAndSaid)
{
    EXPECT_EQ(run(0x123).status, Status::bad_op);
    EXPECT_NE(log_.find("0x123"), std::string::npos) << log_;
}

TEST_F(TheCommands, HandlerSeesWhatIsInEveryInput)
{
    commands_.add({0x80d, "NOP", 16, 16, [](const Command& command) {
                       EXPECT_EQ(command.opcode, 0x80d);
                       EXPECT_EQ(command.uid, 7);
                       EXPECT_EQ(command.op_mod, 3);
                       EXPECT_EQ(command.out[15], std::byte{}) << "what was there before must not leak";
                       command.out[8] = std::byte{5};
                   }});
    const Answer answer = run(0x80d);
    EXPECT_EQ(answer.status, Status::ok);
    EXPECT_EQ(answer.out[8], std::byte{5});
    EXPECT_TRUE(log_.empty()) << log_;
}

TEST_F(TheCommands, RefusalLeavesNothingButItsStatusAndSyndrome)
{
    commands_.add({0x200, "CREATE_MKEY", 16, 16, [](const Command& command) {
                       command.out[8] = std::byte{5};
                       throw Refusal{Status::bad_param, 0x317175, "the start"};
                   }});
    const Answer answer = run(0x200);
    EXPECT_EQ(answer.status, Status::bad_param);
    EXPECT_EQ(answer.syndrome, 0x317175U);
    EXPECT_EQ(answer.out[8], std::byte{});
    EXPECT_NE(log_.find("CREATE_MKEY"), std::string::npos) << log_;
    EXPECT_NE(log_.find("0x317175"), std::string::npos) << log_;
}

TEST_F(TheCommands, ShortInputAndOutputNeverReachTheHandler)
{
    commands_.add({0x200, "CREATE_MKEY", 32, 24, [](const Command&) { FAIL(); }});
    EXPECT_EQ(run(0x200, 31, 24).status, Status::bad_inp_len);
    EXPECT_EQ(run(0x200, 32, 23).status, Status::bad_outp_len);
}

TEST_F(TheCommands, ErrorsOfTheEngineBecomeStatuses)
{
    int number = 0;
    commands_.add({1, "X", 16, 16, [&](const Command&) {
                       throw Error{number, Cause{.what = "it", .limit = {}, .remedy = {}}};
                   }});
    for (const auto& [errno_value, status] :
         {std::pair{EINVAL, Status::bad_param}, std::pair{ENOENT, Status::bad_res},
          std::pair{EBUSY, Status::res_busy}, std::pair{ENOMEM, Status::no_res}, std::pair{ELOOP, Status::lim},
          std::pair{EIO, Status::internal_error}}) {
        number = errno_value;
        EXPECT_EQ(run(1).status, status) << errno_value;
    }
    commands_.add({2, "Y", 16, 16, [](const Command&) { throw std::bad_alloc{}; }});
    EXPECT_EQ(run(2).status, Status::no_res);
}

TEST_F(TheCommands, TwoHandlersForAnOpcodeAreAFault)
{
    commands_.add({1, "X", 16, 16, {}});
    EXPECT_THROW(commands_.add({1, "Y", 16, 16, {}}), std::logic_error);
}

} // namespace
