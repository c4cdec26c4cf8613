// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Two guests with one of mrz-hca's adapters each, linked; and what the one sees when the other's dies. Seen from the
//! host, where the test runs.
#include "support/require.hpp"
#include "support/run_program.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

namespace mrz::test {
namespace {

using testing::HasSubstr;

constexpr int missing = 122; // mrz-vm(1)

//! Where the guests meet: short, since paths of sockets are.
class Folder {
  public:
    Folder()
    {
        std::string name = "/tmp/mrz-lab-XXXXXX";
        if (::mkdtemp(name.data()) == nullptr)
            throw std::runtime_error{"mkdtemp"};
        path_ = name;
    }
    ~Folder()
    {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;
    [[nodiscard]] const std::string& path() const { return path_; }

  private:
    std::string path_;
};

std::vector<std::string> guest(const Folder& folder, const std::string& end, const std::string& script)
{
    const char* vm = std::getenv("MRZ_VM");
    const char* kernel = std::getenv("MRZ_KERNEL");
    if (vm == nullptr || kernel == nullptr)
        throw std::runtime_error{"MRZ_VM names the program, MRZ_KERNEL the guest's kernel"};
    return {
        vm, "run", "--kernel", kernel, "--timeout", "900", "--memory", "1G", "--cpus", "1",
        "--hca=registration=command,name=lab" + end + ",link=" + folder.path() + "/link", "--cable",
        folder.path() + "/cable:" + end, "--", "/bin/sh", "-c",
        // A client tries until the server listens; each of its tries may take as long as a connection that is lost.
        "try() {\n"
        "    tries=0\n"
        "    until timeout 120 \"$@\"; do\n"
        "        tries=$((tries + 1))\n"
        "        [ $tries -lt 100 ] || exit 9\n"
        "        sleep 0.5\n"
        "    done\n"
        "}\n" +
            script};
}

pid_t adapter_of(pid_t process)
{
    std::ifstream file{"/proc/" + std::to_string(process) + "/task/" + std::to_string(process) + "/children"};
    for (const pid_t child : std::vector<pid_t>{std::istream_iterator<pid_t>{file}, {}}) {
        std::ifstream comm{"/proc/" + std::to_string(child) + "/comm"};
        std::string name;
        std::getline(comm, name);
        if (name == "mrz-hca")
            return child;
    }
    return -1;
}

} // namespace

TEST(ConnectXTwoGuests, ExchangeTrafficAndSurviveEachOther)
{
    const Folder folder;
    RunningProgram first{guest(folder, "1",
                               "set -e\n"
                               "ibv_rc_pingpong -d mlx5_0 -n 300 -c\n"
                               "ibv_ud_pingpong -d mlx5_0 -g 0 -n 300 -c\n"
                               "ib_write_bw -d mlx5_0 -F -u 22 -n 100 -s 65536\n"
                               "ib_read_bw -d mlx5_0 -F -u 22 -n 100 -s 65536\n"
                               "echo 'all carried' >&2\n"
                               // Until the other's adapter is killed.
                               "load='ib_write_bw -d mlx5_0 -F -u 14 -s 65536 --run_infinitely -D 1 10.2.0.2'\n"
                               "touch load\n"
                               "tries=0\n"
                               "pid=none\n"
                               "until grep -q '^ 65536' load; do\n"
                               "    kill -0 $pid 2>/dev/null || { stdbuf -oL $load >load 2>&1 & pid=$!; }\n"
                               "    tries=$((tries + 1))\n"
                               "    [ $tries -lt 200 ] || exit 8\n"
                               "    sleep 1\n"
                               "done\n"
                               "echo 'under load' >&2\n"
                               "! wait $pid\n"
                               "cat load\n"
                               "grep -q 'Failed status 12' load\n"
                               "echo 'the peer is lost' >&2\n"
                               "ibv_devinfo -d mlx5_0 | grep PORT_ACTIVE\n"
                               "ibv_rc_pingpong -d mlx5_0 -n 300 -c\n"
                               "echo 'and is back'\n")};
    RunningProgram second{guest(folder, "2",
                                "try ibv_rc_pingpong -d mlx5_0 -n 300 -c 10.2.0.1\n"
                                "try ibv_ud_pingpong -d mlx5_0 -g 0 -n 300 -c 10.2.0.1\n"
                                "try ib_write_bw -d mlx5_0 -F -u 22 -n 100 -s 65536 10.2.0.1\n"
                                "try ib_read_bw -d mlx5_0 -F -u 22 -n 100 -s 65536 10.2.0.1\n"
                                "ib_write_bw -d mlx5_0 -F -u 14 -s 65536 --run_infinitely -D 1 >/dev/null 2>&1\n"
                                "exec sleep 900\n")};
    const auto end = [](RunningProgram& running) {
        ::kill(running.pid(), SIGTERM);
        return running.wait();
    };
    const bool loaded = first.wait_for_error("under load\n");
    if (loaded)
        EXPECT_EQ(::kill(adapter_of(second.pid()), SIGKILL), 0);
    const bool lost = loaded && first.wait_for_error("the peer is lost\n");
    const ProgramResult killed = end(second);
    MRZ_REQUIRE(killed.status != missing, killed.err);
    if (!lost) {
        const ProgramResult result = end(first);
        FAIL() << "the first: " << result.out << result.err << "the second: " << killed.out << killed.err;
    }
    RunningProgram third{guest(folder, "2", "try ibv_rc_pingpong -d mlx5_0 -n 300 -c 10.2.0.1\n")};
    const ProgramResult again = third.wait();
    EXPECT_EQ(again.status, 0) << again.out << again.err;
    if (again.status != 0)
        ::kill(first.pid(), SIGTERM);
    const ProgramResult result = first.wait();
    EXPECT_EQ(result.status, 0) << result.out << result.err;
    EXPECT_THAT(result.out, HasSubstr("and is back"));
}

} // namespace mrz::test
