// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! What a guest's drivers and programs make of an adapter that is told to fail; and that it works again afterwards.
#include "guest.hpp"
#include "support/require.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>

namespace mrz::test {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;

//! A server, and a client that is tried until it listens; both for \p seconds at most: what they wait for may never
//! come.
std::string pingpong(int seconds)
{
    const std::string limited = "timeout " + std::to_string(seconds) + " ibv_rc_pingpong -d mlx5_0 -g 0 -n 10 -c";
    return limited +
           " >/dev/null 2>&1 & server=$!\n"
           "until " +
           limited +
           " 127.0.0.1; do\n"
           "    status=$?\n"
           "    kill -0 $server 2>/dev/null || exit $status\n"
           "    [ $status -ne 124 ] || { kill $server; exit 124; }\n"
           "done\n"
           "wait $server\n";
}

constexpr int timed_out = 124; // timeout(1)
constexpr int patience = 120;  // seconds, of an emulator on a busy machine

class ConnectXFaults : public testing::Test {
  protected:
    void SetUp() override
    {
        if (!guest_)
            guest_ = std::make_unique<Guest>();
        if (!guest_->is_up()) {
            const ProgramResult result = guest_->end();
            MRZ_REQUIRE(result.status != Guest::missing, result.err);
            FAIL() << result.status << ": " << result.out << result.err;
        }
    }
    static void TearDownTestSuite() { guest_.reset(); }

    static void expect_traffic()
    {
        const ProgramResult result = guest_->run(pingpong(patience));
        EXPECT_EQ(result.status, 0) << result.out << result.err;
        EXPECT_THAT(result.out, HasSubstr("10 iters"));
    }
    //! With drivers/verbs, unless another is named.
    static ProgramResult registering(int count, const std::string& driver = "verbs")
    {
        return guest_->run(variable("MRZ_REGISTERING") + ' ' + driver + ":mlx5_0 " + std::to_string(count));
    }
    static nlohmann::json objects() { return guest_->ask({"get", "state"}).at("objects"); }
    //! A number that the adapter tells, once it is as it should be.
    static bool wait_until(const std::function<bool(const nlohmann::json& state)>& is_so)
    {
        for (int left = 10 * patience; left != 0; --left) {
            if (is_so(guest_->ask({"get", "state"})))
                return true;
            std::this_thread::sleep_for(std::chrono::milliseconds{100});
        }
        return false;
    }

    static std::unique_ptr<Guest> guest_;
};
std::unique_ptr<Guest> ConnectXFaults::guest_;

} // namespace

TEST_F(ConnectXFaults, AFailedCommandIsReportedWithItsSyndrome)
{
    guest_->ask({"set", "command-fault", "opcode=0x200", "status=3", "syndrome=0x1234", "times=1"});
    const ProgramResult failed = registering(1);
    EXPECT_EQ(failed.status, 1);
    EXPECT_THAT(failed.out, HasSubstr("0 were registered\nerrno 22\n"));
    const ProgramResult said = guest_->run("dmesg | grep 0x1234");
    EXPECT_THAT(said.out, ContainsRegex("CREATE_MKEY.*bad parameter.*syndrome \\(0x1234\\)"));
    EXPECT_THAT(guest_->log(), ContainsRegex("CREATE_MKEY .*syndrome 0x1234: it was told to fail"));
    EXPECT_EQ(registering(1).status, 0);
    expect_traffic();
}

TEST_F(ConnectXFaults, KeysThatAreUsedUpAreNamedAsTheCause)
{
    const int there_are = guest_->ask({"get", "state"}).at("objects").at("memory key").get<int>();
    guest_->ask({"set", "key-limit", "most=" + std::to_string(there_are + 5)});
    const ProgramResult failed = registering(100);
    EXPECT_EQ(failed.status, 1);
    EXPECT_THAT(failed.out, HasSubstr("5 were registered\nerrno 12\n"));
    EXPECT_THAT(failed.out, HasSubstr("the device's keys (max_mr)"));
    guest_->ask({"set", "key-limit"});
    EXPECT_THAT(registering(100).out, HasSubstr("all were registered"));
    expect_traffic();
}

TEST_F(ConnectXFaults, OfDirectVerbsBecomeTheirCausesAndLeaveNothing)
{
    struct Fault {
        const char* opcode;
        const char* status;
        const char* syndrome;
        int error; // 0: any
        const char* cause;
    };
    const Fault faults[] = {
        {"0x200", "status=8", "syndrome=0x18af6", 12, "the device's keys (max_mr of ibv_devinfo -v)"},
        {"0x200", "status=3", "syndrome=0x317175", 22, "disagree modulo the page size"},
        {"0x200", "status=15", "syndrome=0x1", 12, "the device has no more tables"},
        {"0x200", "status=4", "syndrome=0x2345", 0, "bad system state"},
        {"0x201", "status=1", "syndrome=0x77", 0, "internal error"},
        {"0xa08", "status=8", "syndrome=0x99", 12, "registering"},
        {"0xa08", "status=3", "syndrome=0x99", 22, "registering"},
    };
    ASSERT_EQ(registering(3, "mlx5").status, 0);
    const nlohmann::json before = objects();
    for (const Fault& fault : faults) {
        SCOPED_TRACE(std::string{fault.opcode} + ' ' + fault.status + ' ' + fault.syndrome);
        guest_->ask(
            {"set", "command-fault", std::string{"opcode="} + fault.opcode, fault.status, fault.syndrome, "times=1"});
        const ProgramResult failed = registering(1, "mlx5");
        EXPECT_EQ(failed.status, 1) << failed.out << failed.err;
        if (fault.error != 0) {
            EXPECT_THAT(failed.out, HasSubstr("errno " + std::to_string(fault.error) + '\n'));
        }
        EXPECT_THAT(failed.out, HasSubstr(fault.cause));
        EXPECT_THAT(failed.out, testing::Not(HasSubstr("still pinned")));
        EXPECT_EQ(objects(), before);
    }
    EXPECT_EQ(registering(3, "mlx5").status, 0);
}

TEST_F(ConnectXFaults, OfKeysOverOthersNameWhatTheseMayHaveTooMuchOf)
{
    const nlohmann::json before = objects();
    for (const auto& [syndrome, cause] : {std::pair{"syndrome=0x1234", "its window may be longer than its entries"},
                                          {"syndrome=0x45d3a4", "has no atomics unless those have"}}) {
        guest_->remove("halves");
        guest_->remove("go");
        guest_->start(variable("MRZ_REGISTERING") + " mlx5:mlx5_0 1 pieces\n");
        guest_->wait_for("halves");
        guest_->ask({"set", "command-fault", "opcode=0x200", "status=3", syndrome, "times=1"});
        guest_->make("go");
        const ProgramResult failed = guest_->finish();
        EXPECT_EQ(failed.status, 1) << failed.out << failed.err;
        EXPECT_THAT(failed.out, HasSubstr(cause));
        EXPECT_THAT(failed.out, testing::Not(HasSubstr("still pinned")));
        EXPECT_EQ(objects(), before);
    }
}

//! Who cannot know whether a key was changed takes it back by a command, and another takes its place.
TEST_F(ConnectXFaults, AMovableKeyWhoseRequestIsNeverDoneLeadsNowhere)
{
    const nlohmann::json before = objects();
    guest_->remove("leads");
    guest_->remove("go");
    guest_->start(variable("MRZ_REGISTERING") + " mlx5:mlx5_0 3 movable\n");
    guest_->wait_for("leads");
    guest_->ask({"set", "completion-fault", "lose=1"});
    guest_->make("go");
    const ProgramResult result = guest_->finish();
    EXPECT_EQ(result.status, 0) << result.out << result.err;
    EXPECT_THAT(result.out, ContainsRegex("changing key 0x.* of device mlx5_0.*did not tell that it was done"));
    EXPECT_THAT(result.out, HasSubstr("leads nowhere\nmade anew\nmoved\n"));
    EXPECT_EQ(objects(), before);
}

TEST_F(ConnectXFaults, WhoWaitsForALostCompletionWaitsForEver)
{
    const auto lost = guest_->ask({"get", "state"}).at("completions").at("lost").get<int>();
    guest_->ask({"set", "completion-fault", "lose=1"});
    const ProgramResult failed = guest_->run(pingpong(20));
    EXPECT_EQ(failed.status, timed_out) << failed.out << failed.err;
    EXPECT_EQ(guest_->ask({"get", "state"}).at("completions").at("lost"), lost + 1);
    expect_traffic();
}

TEST_F(ConnectXFaults, DelayedCompletionsComeOnceTheyMay)
{
    guest_->ask({"set", "completion-fault", "delay=3600000"});
    guest_->start(pingpong(patience));
    EXPECT_TRUE(wait_until([](const nlohmann::json& state) { return state.at("completions").at("delayed") != 0; }));
    guest_->ask({"set", "completion-fault"});
    const ProgramResult result = guest_->finish();
    EXPECT_EQ(result.status, 0) << result.out << result.err;
    EXPECT_EQ(guest_->ask({"get", "state"}).at("completions").at("delayed"), 0);
    guest_->ask({"set", "completion-fault", "delay=5"});
    expect_traffic();
    guest_->ask({"set", "completion-fault"});
}

TEST_F(ConnectXFaults, ARemovedAdapterIsGivenUpByItsDriver)
{
    const ProgramResult loaded = guest_->run("load='ib_write_bw -d mlx5_0 -F -u 22 -s 65536 --run_infinitely -D 1'\n"
                                             "$load >/dev/null 2>&1 & server=$!\n"
                                             "tries=0\n"
                                             "while :; do\n"
                                             "    stdbuf -oL $load 127.0.0.1 >said 2>/dev/null & client=$!\n"
                                             "    until grep -q '^ 65536' said; do\n"
                                             "        kill -0 $client || break\n"
                                             "        sleep 0.2\n"
                                             "    done\n"
                                             "    ! grep -q '^ 65536' said || break\n"
                                             "    tries=$((tries + 1))\n"
                                             "    kill -0 $server && [ $tries -lt 100 ] || exit 1\n"
                                             "done\n"
                                             "echo $server $client >loads\n");
    ASSERT_EQ(loaded.status, 0) << loaded.out << loaded.err;
    guest_->ask({"set", "removed"});
    // The load ends because it is killed: nothing that it waits for ends any more.
    const ProgramResult result = guest_->run("mkfifo news\n"
                                             "dmesg --follow >news & follows=$!\n"
                                             "timeout 200 grep -m 1 'mlx5_core.*error' <news || exit 2\n"
                                             "kill $follows\n"
                                             "kill -9 $(cat loads)\n"
                                             "device=$(readlink -f /sys/class/infiniband/mlx5_0/device)\n"
                                             "echo 1 >$device/remove\n"
                                             "[ ! -e /sys/class/infiniband/mlx5_0 ] || exit 3\n"
                                             "dmesg | grep mlx5_core | tail -n 30\n"
                                             "echo 'the guest lives'\n");
    EXPECT_EQ(result.status, 0) << result.out << result.err;
    EXPECT_THAT(result.out, HasSubstr("the guest lives"));
    const nlohmann::json state = guest_->ask({"get", "state"});
    EXPECT_EQ(state.at("removed"), true);
    for (const auto& [kind, count] : state.at("objects").items())
        EXPECT_EQ(count, 0) << kind;
    EXPECT_EQ(guest_->end().status, 0);
    guest_.reset(); // what follows gets another
}

} // namespace mrz::test
