// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! An adapter whose drivers come and go, and whose programs are killed, many times: it holds no more afterwards than
//! it did before.
#include "guest.hpp"
#include "support/require.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <utility>

namespace mrz::test {
namespace {

//! What the adapter holds: objects of each kind, keys, translations, pages of the guest.
nlohmann::json held(const Guest& guest)
{
    nlohmann::json all = guest.ask({"get", "state"});
    const nlohmann::json counters = guest.ask({"get", "counters"});
    for (const char* name : {"keys", "translations"})
        all[name] = counters.at(name);
    return all;
}

//! The same once it rests: the kernel's driver answers before it has filled its cache of keys.
nlohmann::json held_at_rest(const Guest& guest)
{
    static constexpr int enough = 6;
    nlohmann::json last = held(guest);
    for (int same = 0, tries = 0; same < enough && tries < 240; ++tries) {
        std::this_thread::sleep_for(std::chrono::milliseconds{500});
        nlohmann::json now = held(guest);
        same = now == last ? same + 1 : 0;
        last = std::move(now);
    }
    return last;
}

class ConnectXSoak : public testing::Test {
  protected:
    void SetUp() override
    {
        if (const char* asked = std::getenv("MRZ_CONNECTX_ROUNDS"); asked != nullptr)
            rounds_ = std::atoi(asked);
        if (guest_.is_up())
            return;
        const ProgramResult result = guest_.end();
        MRZ_REQUIRE(result.status != Guest::missing, result.err);
        FAIL() << result.status << ": " << result.out << result.err;
    }
    //! Does it once, and then so many times as there are rounds: these leave nothing.
    void repeat(const std::string& script)
    {
        nlohmann::json before;
        for (int round = 0; round <= rounds_; ++round) {
            const ProgramResult result = guest_.run(script);
            ASSERT_EQ(result.status, 0) << "round " << round << ": " << result.out << result.err;
            const nlohmann::json now = held_at_rest(guest_);
            if (round == 0)
                before = now;
            ASSERT_EQ(now, before) << "after round " << round;
        }
        std::printf("%d rounds leave %s\n", rounds_, before.dump().c_str());
        EXPECT_EQ(guest_.run("dmesg | grep -i syndrome").out, "");
        // A command that was refused, or something that a process left to its user context.
        for (const char* said : {"in use by", "left", "bad "})
            EXPECT_THAT(guest_.log(), testing::Not(testing::HasSubstr(said)));
        const ProgramResult ended = guest_.end();
        EXPECT_EQ(ended.status, 0) << ended.err;
    }

    Guest guest_{"registration=" + variable("MRZ_REGISTRATION")};
    int rounds_ = 30;
};

} // namespace

TEST_F(ConnectXSoak, DriversThatAreLoadedAnewLeaveNothing)
{
    repeat("set -e\n"
           "modprobe -r mlx5_ib\n"
           "modprobe -r mlx5_core\n"
           "[ ! -e /sys/class/infiniband/mlx5_0 ]\n"
           "modprobe mlx5_ib\n"
           "ibv_devinfo -d mlx5_0 | grep PORT_ACTIVE\n");
}

TEST_F(ConnectXSoak, ProcessesThatAreKilledUnderLoadLeaveNothing)
{
    // Killed while bytes move, which is once a client has printed what moved in a second.
    repeat("load='ib_write_bw -d mlx5_0 -F -u 22 -s 65536 --run_infinitely -D 1'\n"
           "$load >/dev/null 2>&1 & server=$!\n"
           "tries=0\n"
           "moved=no\n"
           "while [ $moved = no ]; do\n"
           "    stdbuf -oL $load 127.0.0.1 >said 2>/dev/null & client=$!\n"
           "    while kill -0 $client; do\n"
           "        if grep -q '^ 65536' said; then\n"
           "            moved=yes\n"
           "            kill -9 $client $server\n"
           "            break\n"
           "        fi\n"
           "        sleep 0.1\n"
           "    done\n"
           "    wait $client\n"
           "    tries=$((tries + 1))\n"
           "    [ $moved = yes ] || { kill -0 $server && [ $tries -lt 100 ]; } || exit 1\n"
           "done\n"
           "wait $server\n"
           "[ $? -eq 137 ]\n");
}

} // namespace mrz::test
