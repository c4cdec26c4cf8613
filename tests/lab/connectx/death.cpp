// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! mrz-hca killed while its adapter works: seen from the host, where the test runs.
#include "support/require.hpp"
#include "support/run_program.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace mrz::test {
namespace {

using testing::HasSubstr;

constexpr int missing = 122; // mrz-vm(1)

std::vector<pid_t> children_of(pid_t process)
{
    std::ifstream file{"/proc/" + std::to_string(process) + "/task/" + std::to_string(process) + "/children"};
    return {std::istream_iterator<pid_t>{file}, {}};
}

std::string name_of(pid_t process)
{
    std::ifstream file{"/proc/" + std::to_string(process) + "/comm"};
    std::string name;
    std::getline(file, name);
    return name;
}

//! A QEMU that was fetched, among the machine's files, uses none of the machine's libraries and modules.
void expect_own_libraries(pid_t qemu)
{
    const std::filesystem::path loader =
        std::filesystem::read_symlink("/proc/" + std::to_string(qemu) + "/exe").parent_path();
    std::ifstream maps{"/proc/" + std::to_string(qemu) + "/maps"};
    std::size_t libraries = 0;
    for (std::string line; std::getline(maps, line);) {
        const std::size_t path = line.find('/');
        if (path == std::string::npos || line.find(".so") == std::string::npos)
            continue;
        EXPECT_THAT(line.substr(path), testing::StartsWith(loader.string()));
        ++libraries;
    }
    EXPECT_GT(libraries, 0U);
}

//! Kills the adapter of a guest under load, and says how the guest ended.
ProgramResult kill_under_load(const char* vm, const char* kernel)
{
    // The load ends because what it waits for fails; the driver's health check notices within seconds.
    RunningProgram guest{{vm, "run", "--kernel", kernel, "--timeout", "300", "--hca", "--", "/bin/sh", "-c",
                          "load='ib_write_bw -d mlx5_0 -F -u 22 -s 65536 --run_infinitely -D 1'\n"
                          "$load >/dev/null 2>&1 & server=$!\n"
                          "tries=0\n"
                          "until stdbuf -oL $load 127.0.0.1 | grep -m 1 '^ 65536'; do\n"
                          "    tries=$((tries + 1))\n"
                          "    kill -0 $server && [ $tries -lt 100 ] || exit 1\n"
                          "done\n"
                          "echo 'under load' >&2\n"
                          "timeout 120 grep -m 1 -q 'mlx5_core.*error' /dev/kmsg || exit 2\n" // which waits for more
                          "kill -9 $server\n"
                          "dmesg | grep mlx5_core\n"
                          "! timeout 60 ibv_devinfo -d mlx5_0\n"
                          "echo 'the guest lives'"}};
    if (!guest.wait_for_error("under load\n"))
        return guest.wait();
    int killed = 0;
    for (const pid_t child : children_of(guest.pid())) {
        if (name_of(child) == "mrz-hca") {
            EXPECT_EQ(::kill(child, SIGKILL), 0);
            ++killed;
        } else if (name_of(child).starts_with("ld-linux")) {
            expect_own_libraries(child);
        }
    }
    EXPECT_EQ(killed, 1);
    return guest.wait();
}

//! QEMU 11.1 may abort where a device's process dies, if two of its threads are about to ask that at once: then it
//! was not the guest's turn to survive.
bool qemu_aborted(const ProgramResult& result)
{
    return result.err.find("error_setv: Assertion") != std::string::npos;
}

} // namespace

TEST(ConnectXDeath, TheGuestSurvivesAndItsDriverReports)
{
    const char* vm = std::getenv("MRZ_VM");
    const char* kernel = std::getenv("MRZ_KERNEL");
    ASSERT_NE(vm, nullptr) << "MRZ_VM names the program";
    ASSERT_NE(kernel, nullptr) << "MRZ_KERNEL is the guest's";
    ProgramResult result = kill_under_load(vm, kernel);
    for (int more = 4; more != 0 && qemu_aborted(result); --more) {
        std::puts("QEMU aborted; once more");
        result = kill_under_load(vm, kernel);
    }
    MRZ_REQUIRE(result.status != missing, result.err);
    EXPECT_EQ(result.status, 0) << result.out << result.err;
    EXPECT_THAT(result.out, HasSubstr("the guest lives"));
    EXPECT_THAT(result.err, HasSubstr("mrz-hca ended before the guest did: signal 9 ended it"));
}

} // namespace mrz::test
