// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! What a person types, and what a script does.
#include "testpmd.hpp"

#include <csignal>
#include <fstream>

namespace mrz::test {
namespace {

using testing::HasSubstr;
using testing::Not;

class TestpmdPrompt : public Testpmd {
  protected:
    static Words two_ports(const Words& options = {})
    {
        return interactive({"--vdev=net_null0", "--vdev=net_null1"}, options);
    }
    //! What is answered to a line, up to \p end.
    static std::string answer(Dialogue& program, const std::string& line, const std::string& end = "testpmd> ")
    {
        program.say(line);
        EXPECT_TRUE(program.hear(end)) << line << "\n" << program.text();
        return program.last_heard();
    }
};

TEST_F(TestpmdPrompt, AnswersAPersonAtATerminal)
{
    Dialogue program{two_ports(), Dialogue::Over::terminal};
    ASSERT_TRUE(program.hear("testpmd> ")) << program.text();
    EXPECT_THAT(answer(program, "set fwd mac"), HasSubstr("Set mac packet forwarding mode"));
    EXPECT_THAT(answer(program, "start"), HasSubstr("mac packet forwarding - ports=2 - cores=1 - streams=2"));
    EXPECT_THAT(answer(program, "show port stats all"), HasSubstr("NIC statistics for port 1"));
    EXPECT_THAT(answer(program, "show fwd stats all"), HasSubstr("Forward statistics for port 1"));
    EXPECT_THAT(answer(program, "show arenas"), HasSubstr("arena testpmd: socket"));
    EXPECT_THAT(answer(program, "show plan"), HasSubstr("for the same pool in plain DPDK memory"));
    EXPECT_THAT(answer(program, "show map"), Not(HasSubstr("mrz-testpmd:")));
    EXPECT_THAT(answer(program, "port stop 0"), HasSubstr("try: stop"));
    // For the next start.
    EXPECT_THAT(answer(program, "set fwd macswap"), HasSubstr("Set macswap packet forwarding mode"));
    EXPECT_THAT(answer(program, "show fwd stats all"), HasSubstr("Forward statistics for port 1"));
    EXPECT_THAT(answer(program, "set burst"), HasSubstr("Bad arguments"));
    EXPECT_THAT(answer(program, "fly"), HasSubstr("try: help"));
    EXPECT_THAT(answer(program, "help"), HasSubstr("show port info|stats|xstats|summary all"));
    EXPECT_THAT(answer(program, "stop"), HasSubstr("Done."));
    // The rest of each word is the prompt's to type.
    EXPECT_THAT(answer(program, "sh\tpor\tsum\tall"), HasSubstr("net_null"));
    program.type("qui\t\n");
    const ProgramResult result = program.wait();
    EXPECT_EQ(result.status, 0) << result.out;
    EXPECT_TRUE(program.terminal_as_before());
}

TEST_F(TestpmdPrompt, EndsByControlCWithStatisticsAndTheTerminalAsItWas)
{
    Dialogue program{two_ports(), Dialogue::Over::terminal};
    ASSERT_TRUE(program.hear("testpmd> ")) << program.text();
    answer(program, "start");
    ASSERT_NO_FATAL_FAILURE(wait_for_packets(program, 0, "RX-packets", 1000));
    program.type("\x03");
    const ProgramResult result = program.wait();
    EXPECT_EQ(result.status, 0) << result.out;
    EXPECT_THAT(result.out, HasSubstr("Accumulated forward statistics"));
    EXPECT_TRUE(program.terminal_as_before());
}

TEST_F(TestpmdPrompt, EndsByControlDWhereNothingIsTyped)
{
    Dialogue program{two_ports(), Dialogue::Over::terminal};
    ASSERT_TRUE(program.hear("testpmd> ")) << program.text();
    program.type("\x04");
    EXPECT_EQ(program.wait().status, 0) << program.text();
    EXPECT_TRUE(program.terminal_as_before());
}

TEST_F(TestpmdPrompt, LeavesTheTerminalAsItWasWhenItIsToldToEnd)
{
    Dialogue program{two_ports(), Dialogue::Over::terminal};
    ASSERT_TRUE(program.hear("testpmd> ")) << program.text();
    ::kill(program.pid(), SIGTERM);
    EXPECT_EQ(program.wait().status, 0) << program.text();
    EXPECT_TRUE(program.terminal_as_before());
}

TEST_F(TestpmdPrompt, CarriesOutAFileThenAPipe)
{
    const std::string file = folder / "commands";
    std::ofstream{file} << "# a comment\n\nset fwd rxonly\nfly\nstart\n";
    Dialogue program{two_ports({"--cmdline-file=" + file})};
    program.say("stop");
    program.say("set txpkts 64,40");
    program.say("set fwd txonly");
    program.say("start");
    ASSERT_NO_FATAL_FAILURE(wait_for_packets(program, 0, "TX-packets", 1000));
    program.close_input();
    const ProgramResult result = program.wait();
    EXPECT_EQ(result.status, 0) << result.out;
    EXPECT_THAT(result.out, HasSubstr("rxonly packet forwarding - ports=2"));
    EXPECT_THAT(result.out, HasSubstr("txonly packet forwarding - ports=2"));
    EXPECT_THAT(result.out, Not(HasSubstr("comment")));
    // Two by "stop" and by the end.
    const std::size_t first = result.out.find("Accumulated");
    ASSERT_NE(first, std::string::npos) << result.out;
    EXPECT_NE(result.out.find("Accumulated", first + 1), std::string::npos) << result.out;
}

TEST_F(TestpmdPrompt, EndsBurstsBeforeForwardingByASignal)
{
    Dialogue program{two_ports()};
    ASSERT_NO_FATAL_FAILURE(wait_until_ready(program));
    program.say("start tx_first 4000000000");
    ::kill(program.pid(), SIGTERM);
    const ProgramResult result = program.wait();
    EXPECT_EQ(result.status, 0) << result.out;
}

TEST_F(TestpmdPrompt, SendsFirstByQueuesThatExist)
{
    Dialogue program{interactive({"--vdev=net_ring0"}, {"--rxq=2", "--txq=1", "--forward-mode=rxonly"})};
    program.say("start tx_first 2");
    EXPECT_TRUE(program.hear("streams=2")) << program.text();
    EXPECT_GT(forwarded(stop(program), 0, "RX-packets"), 0U);
    quit(program);
}

TEST_F(TestpmdPrompt, DoesNotJoinPortsAnewWhereOneIsStopped)
{
    Dialogue program{
        interactive({"--vdev=net_null0", "--vdev=net_null1", "--vdev=net_null2", "--vdev=net_null3"}, {})};
    program.say("port stop 1");
    EXPECT_TRUE(program.hear("Done")) << program.text();
    program.say("start");
    EXPECT_TRUE(program.hear("port 1 is stopped; try: port start 1")) << program.text();
    program.say("port close 1");
    EXPECT_TRUE(program.hear("Done")) << program.text();
    program.say("start");
    ASSERT_TRUE(program.hear("\n\n")) << program.text();
    const std::string ways = program.last_heard();
    EXPECT_THAT(ways, HasSubstr("RX P=2/Q=0 (socket 0) -> TX P=3/Q=0"));
    EXPECT_THAT(ways, Not(HasSubstr("RX P=0"))) << "it has nobody to send to";
    quit(program);
}

TEST_F(TestpmdPrompt, SaysWhyAPortCannotBeHadAndGoesOn)
{
    Dialogue program{interactive({"--vdev=net_null0", "--vdev=net_null1"}, {"--port-topology=loop"})};
    program.say("show port info 7");
    EXPECT_TRUE(program.hear("there is none of that number")) << program.text();
    program.say("port close 1");
    EXPECT_TRUE(program.hear("Done")) << program.text();
    program.say("port start 1");
    EXPECT_TRUE(program.hear("it is closed")) << program.text();
    program.say("start");
    EXPECT_TRUE(program.hear("ports=1")) << program.text();
    stop(program);
    program.say("port stop all");
    EXPECT_TRUE(program.hear("Done")) << program.text();
    program.say("start");
    EXPECT_TRUE(program.hear("try: port start 0")) << program.text();
    program.say("port start all");
    EXPECT_TRUE(program.hear("Done")) << program.text();
    ASSERT_NO_FATAL_FAILURE(start(program, 1));
    program.say("show port info all");
    program.say("clear port stats all");
    quit(program);
    // DPDK does not complain about what is none of its ports any more.
    EXPECT_THAT(program.text(), Not(HasSubstr("Invalid port_id")));
}

} // namespace
} // namespace mrz::test
