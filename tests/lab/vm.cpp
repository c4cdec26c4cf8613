// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! mrz-vm as a person meets it: what comes back from a guest, and what is left of it.
#include "support/require.hpp"
#include "support/run_program.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace mrz::test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

// mrz-vm(1)
constexpr int panicked = 120;
constexpr int lost = 121;
constexpr int missing = 122;
constexpr int timed_out = 124;
constexpr int failed = 125;

std::string text_of(const fs::path& file)
{
    std::ifstream stream{file};
    return {std::istreambuf_iterator<char>{stream}, {}};
}

//! Waits until a process that is not this one's child has ended.
void await_end(pid_t process)
{
    const int fd = static_cast<int>(::syscall(SYS_pidfd_open, process, 0));
    if (fd < 0)
        return; // has ended
    pollfd ended{.fd = fd, .events = POLLIN, .revents = 0};
    EXPECT_EQ(::poll(&ended, 1, 60'000), 1) << "process " << process << " lives on";
    ::close(fd);
}

//! The processes that one has started.
std::vector<pid_t> children_of(pid_t process)
{
    std::ifstream file{"/proc/" + std::to_string(process) + "/task/" + std::to_string(process) + "/children"};
    return {std::istream_iterator<pid_t>{file}, {}};
}

class Vm : public testing::Test {
  protected:
    void SetUp() override
    {
        const char* program = std::getenv("MRZ_VM");
        ASSERT_NE(program, nullptr) << "MRZ_VM names the program";
        program_ = program;
        char name[] = "/tmp/mrz-vm-test-XXXXXX";
        ASSERT_NE(::mkdtemp(name), nullptr);
        folder_ = name;
    }
    void TearDown() override
    {
        if (!folder_.empty())
            fs::remove_all(folder_);
    }

    [[nodiscard]] std::vector<std::string> command(const std::vector<std::string>& options,
                                                   const std::vector<std::string>& program) const
    {
        std::vector<std::string> words{program_, "run"};
        words.insert(words.end(), options.begin(), options.end());
        words.emplace_back("--");
        words.insert(words.end(), program.begin(), program.end());
        return words;
    }
    [[nodiscard]] ProgramResult run(const std::vector<std::string>& options,
                                    const std::vector<std::string>& program) const
    {
        return RunningProgram{command(options, program),
                              {},
                              [this] {
                                  if (::chdir(folder_.c_str()) != 0)
                                      ::_exit(126);
                              }}
            .wait();
    }
    //! The folders of runs that live, or were left behind.
    static std::set<fs::path> run_folders()
    {
        std::set<fs::path> found;
        std::error_code none;
        for (const fs::directory_entry& entry : fs::directory_iterator{"/run/mrz-vm", none})
            if (entry.is_directory())
                found.insert(entry.path());
        return found;
    }

    std::string program_;
    fs::path folder_;
};

#define EXPECT_A_GUEST(result) MRZ_REQUIRE((result).status != missing, (result).err)

} // namespace

TEST_F(Vm, GivesBackWhatAProgramPrintsWritesAndReturns)
{
    const fs::path output = folder_ / "out, put"; // a comma means something to QEMU
    std::ofstream{folder_ / "input"} << "from the host\n";
    const ProgramResult result = run(
        {"--kernel", "6.12", "--output", output, "--env", "GREETING=two  words", "--outcome", folder_ / "outcome"},
        {"sh", "-c",
         "uname -r; pwd; cat input; echo \"$GREETING|$1|$HOME\"; env | grep -c OF_THE_HOST\n"
         "echo lost >input; echo \"kept $(cat input)\" >'out, put/file'\n"
         "echo warning >&2; sleep 100000 & exit 7",
         "sh", "it's\n\"quoted\" $HOME"});
    EXPECT_A_GUEST(result);
    EXPECT_EQ(result.status, 7) << result.err;
    EXPECT_THAT(result.out, testing::StartsWith("6.12."));
    EXPECT_THAT(result.out,
                HasSubstr("\n" + folder_.string() + "\nfrom the host\ntwo  words|it's\n\"quoted\" $HOME|/root\n0\n"));
    EXPECT_EQ(result.err, "warning\n");
    EXPECT_EQ(text_of(output / "file"), "kept lost\n");
    EXPECT_EQ(text_of(folder_ / "input"), "from the host\n");
    EXPECT_EQ(text_of(folder_ / "outcome"), "{\"outcome\": \"exited\", \"status\": 7}\n");
}

TEST_F(Vm, JoinsTwoNetworkNamespaces)
{
    const ProgramResult result = run({"--netns"}, {"sh", "-c", R"(
ip netns exec mrz1 python3 -c '
import socket
connection, peer = socket.create_server(("10.1.0.2", 7)).accept()
connection.sendall(b"hello " + peer[0].encode())' &
exec ip netns exec mrz0 python3 -c '
import socket, time
while True:
    try:
        print(socket.create_connection(("10.1.0.2", 7)).makefile().read())
        break
    except ConnectionRefusedError:  # not yet
        time.sleep(0.1)')"});
    EXPECT_A_GUEST(result);
    EXPECT_EQ(result.status, 0) << result.err;
    EXPECT_EQ(result.out, "hello 10.1.0.1\n");
}

TEST_F(Vm, TellsOfAProgramThatASignalEnded)
{
    const ProgramResult result = run({}, {"sh", "-c", "kill -9 $$"});
    EXPECT_A_GUEST(result);
    EXPECT_EQ(result.status, 128 + SIGKILL) << result.err;
}

TEST_F(Vm, TellsOfAPanic)
{
    const ProgramResult result =
        run({"--outcome", folder_ / "outcome"}, {"sh", "-c", "echo before; exec >/proc/sysrq-trigger; echo c"});
    EXPECT_A_GUEST(result);
    EXPECT_EQ(result.status, panicked);
    EXPECT_THAT(result.err, HasSubstr("the guest's kernel panicked while it ran the program"));
    EXPECT_THAT(result.err, HasSubstr("sysrq triggered crash"));
    EXPECT_THAT(text_of(folder_ / "outcome"), HasSubstr("\"panic\""));
}

TEST_F(Vm, TellsOfAGuestThatDoesNotBoot)
{
    const ProgramResult result = run({"--append", "rdinit=/nowhere", "--console", folder_ / "console"}, {"true"});
    EXPECT_A_GUEST(result);
    EXPECT_EQ(result.status, panicked);
    EXPECT_THAT(result.err, HasSubstr("panicked while it booted"));
    EXPECT_THAT(text_of(folder_ / "console"), HasSubstr("Kernel panic"));
}

TEST_F(Vm, TellsOfAGuestThatEndsWithoutAWord)
{
    const ProgramResult result = run({}, {"sh", "-c", "echo o >/proc/sysrq-trigger; exec sleep 100000"});
    EXPECT_A_GUEST(result);
    EXPECT_EQ(result.status, lost);
    EXPECT_THAT(result.err, HasSubstr("the guest ended while it ran the program, without a word"));
}

TEST_F(Vm, TellsOfAGuestThatHangs)
{
    const ProgramResult result = run({"--timeout", "20"}, {"sleep", "100000"});
    EXPECT_A_GUEST(result);
    EXPECT_EQ(result.status, timed_out);
    EXPECT_THAT(result.err, HasSubstr("after 20 seconds"));
}

TEST_F(Vm, TellsOfWhatTheGuestCannotBe)
{
    const ProgramResult result = run({"--module", "mrz_no_such_module"}, {"true"});
    EXPECT_A_GUEST(result);
    EXPECT_EQ(result.status, failed);
    EXPECT_THAT(result.err, HasSubstr("the module mrz_no_such_module cannot be loaded"));
}

TEST_F(Vm, LeavesNothingWhereItIsKilled)
{
    const std::set<fs::path> before = run_folders();
    for (const int signal : {SIGTERM, SIGKILL}) {
        RunningProgram vm{command({}, {"sh", "-c", "echo here >&2; exec sleep 100000"})};
        if (!vm.wait_for_error("here\n")) {
            const ProgramResult result = vm.wait();
            EXPECT_A_GUEST(result);
            FAIL() << result.err;
        }
        const std::vector<pid_t> children = children_of(vm.pid());
        EXPECT_EQ(children.size(), 1U);
        ASSERT_EQ(::kill(vm.pid(), signal), 0);
        EXPECT_EQ(vm.wait().status, 128 + signal);
        for (const pid_t child : children)
            await_end(child);
    }
    // The next one finds what a killed one could not take away.
    EXPECT_EQ(run({"--qemu", "/bin/false"}, {"true"}).status, failed);
    EXPECT_EQ(run_folders(), before);
}

TEST_F(Vm, RefusesWhatMakesNoSense)
{
    const auto refusal = [this](const std::vector<std::string>& options) {
        const ProgramResult result = run(options, {"true"});
        EXPECT_EQ(result.status, failed) << result.err;
        return result.err;
    };
    EXPECT_THAT(refusal({"--memory", "lots"}), HasSubstr("sizes look like 6G"));
    EXPECT_THAT(refusal({"--memory", "1G", "--hugepages", "1G=1"}), HasSubstr("try --memory 2G"));
    EXPECT_THAT(refusal({"--hugepages", "2M=8@1"}), HasSubstr("try --nodes 2"));
    EXPECT_THAT(refusal({"--nodes", "4"}), HasSubstr("try --cpus 4"));
    EXPECT_THAT(refusal({"--cache", "/proc/cache"}), HasSubstr("cannot be seen in the guest"));
    const ProgramResult none = RunningProgram{{program_, "run"}}.wait();
    EXPECT_EQ(none.status, failed);
    EXPECT_THAT(none.err, HasSubstr("no program is named"));
}

TEST_F(Vm, TellsWhatIsMissing)
{
    const ProgramResult nowhere = run({"--qemu", "/nowhere/qemu"}, {"true"});
    EXPECT_EQ(nowhere.status, missing);
    EXPECT_THAT(nowhere.err, HasSubstr("no QEMU at /nowhere/qemu"));
    // Debian 12's knows no such devices; of what calls itself QEMU and lists none the same can be said.
    const ProgramResult old = run({"--vfio-user", "/tmp/socket", "--qemu", "/bin/false"}, {"true"});
    EXPECT_EQ(old.status, missing) << old.err;
    EXPECT_THAT(old.err, HasSubstr("QEMU 10.1"));
}

} // namespace mrz::test
