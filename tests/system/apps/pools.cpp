// SPDX-License-Identifier: BSD-3-Clause
#include "mrz_program.hpp"

#include "support/pool_guard.hpp"

#include <algorithm>
#include <csignal>
#include <fcntl.h>

namespace mrz::test {
namespace {

class MrzPools : public MrzProgram {};

TEST_F(MrzPools, ListsEveryPoolAndNode)
{
    const auto [status, object] = mrz_json({"pools"});
    EXPECT_EQ(status, 0);
    bool found = false;
    for (const Json& pool : object.at("pools"))
        if (pool.at("page_size") == 2097152 && pool.at("node").is_null()) {
            found = true;
            EXPECT_EQ(pool.at("total"), read_pool(2_MiB).total);
        }
    EXPECT_TRUE(found);
    EXPECT_TRUE(object.at("mounts").is_array());
}

TEST_F(MrzPools, TellWhichBlocksTheirFreePagesHold)
{
    const PoolGuard pool{2_MiB, 64};
    const auto found_in = [](const Json& object) {
        for (const Json& found : object.at("fragmentation"))
            if (found.at("page_size") == 2_MiB)
                return found;
        return Json{};
    };
    {
        // Every second page is another's: no block is left.
        TakenPages all{2_MiB, 64};
        const std::vector<DmaAddress> frames = all.frames();
        std::vector<std::size_t> odd;
        for (std::size_t i = 0; i < frames.size(); ++i)
            if (frames[i].value() / 2_MiB % 2 == 1)
                odd.push_back(i);
        all.give_back(odd);
        const auto [status, object] = mrz_json({"pools", "--fragmentation"});
        ASSERT_EQ(status, 0) << object;
        const Json found = found_in(object);
        EXPECT_EQ(found.at("looked_at"), odd.size());
        EXPECT_EQ(found.at("extents"), odd.size());
        for (const Json& block : found.at("blocks"))
            EXPECT_EQ(block.at("count"), 0) << block;
        EXPECT_EQ(found.at("blocks").front().at("size"), 4_MiB);
        EXPECT_EQ(found.at("blocks").back().at("size"), 2_GiB);
    }
    std::vector<DmaAddress> frames = TakenPages{2_MiB, 64}.frames();
    std::sort(frames.begin(), frames.end());
    std::size_t pairs = 0;
    for (std::size_t i = 1; i < frames.size(); ++i)
        pairs += frames[i] - frames[i - 1] == 2_MiB && frames[i - 1].value() % 4_MiB == 0 ? 1 : 0;
    const auto [status, object] = mrz_json({"pools", "--fragmentation"});
    EXPECT_EQ(found_in(object).at("blocks").front().at("count"), pairs);
    EXPECT_EQ(pool.free(), 64U);

    const auto [nobodys_status, nobodys] = mrz_json({"pools", "--fragmentation"}, {}, become_nobody);
    ASSERT_EQ(nobodys_status, 0) << nobodys;
    EXPECT_FALSE(found_in(nobodys).at("frames_known"));
    EXPECT_TRUE(found_in(nobodys).at("blocks").is_null());
    EXPECT_EQ(found_in(nobodys).at("guaranteed"), 2_MiB);
    EXPECT_FALSE(nobodys.at("unknown").is_null());
    expect_error(mrz_json({"pools", "--fragmentation", "restore"}), 2);
}

TEST_F(MrzPools, AreSetTwiceAndRestoredToTheFirst)
{
    const auto [status, object] = mrz_json({"pools", "set", pool_of(before + 3)});
    EXPECT_EQ(status, 0);
    EXPECT_EQ(object.at("before"), before);
    EXPECT_EQ(object.at("asked"), before + 3);
    EXPECT_EQ(object.at("obtained"), before + 3);
    EXPECT_EQ(pages(), before + 3);
    EXPECT_EQ(mrz({"pools", "set", pool_of(before + 5) + ",node=0"}).status, 0);

    const auto [restored, report] = mrz_json({"pools", "restore"});
    EXPECT_EQ(restored, 0);
    EXPECT_FALSE(report.at("restored").empty());
    EXPECT_EQ(pages(), before);
    EXPECT_EQ(mrz({"pools", "restore"}).out, "nothing to restore\n");
}

TEST_F(MrzPools, AreNotChangedByADryRun)
{
    const auto [status, object] = mrz_json({"pools", "set", pool_of(before + 3), "--dry-run"});
    EXPECT_EQ(status, 0);
    EXPECT_EQ(object.at("before"), before);
    EXPECT_TRUE(object.at("obtained").is_null());
    EXPECT_EQ(pages(), before);
}

TEST_F(MrzPools, StayAsTheyWereIfTheMachineHasLess)
{
    const auto result = mrz_json({"pools", "set", "64T@2M"});
    expect_error(result, 3);
    EXPECT_GT(result.second.at("error").at("need"), result.second.at("error").at("value"));
}

TEST_F(MrzPools, RefuseWhatTheKernelLacksOrNobodyUnderstands)
{
    expect_error(mrz_json({"pools", "set", "8M@4M"}), 3);
    expect_error(mrz_json({"pools", "set", "4M@2M,node=999"}), 3);
    expect_error(mrz_json({"pools", "set", "3M@2M"}), 2);
    expect_error(mrz_json({"pools", "set", "4M"}), 2);
    expect_error(mrz_json({"pools", "set"}), 2);
    expect_error(mrz_json({"pools", "fill"}), 2);
}

TEST_F(MrzPools, AreNotForAnOrdinaryUserToSet)
{
    const auto result = mrz_json({"pools", "set", pool_of(before + 1)}, {}, become_nobody);
    expect_error(result, 5);
    EXPECT_EQ(mrz({"pools"}, {}, become_nobody).status, 0);
}

TEST_F(MrzPools, SayInternalErrorIfTheAnswerCannotBeWritten)
{
    const auto to_a_full_device = [] { dup2(open("/dev/full", O_WRONLY), 1); };
    EXPECT_EQ(mrz({"pools"}, {}, to_a_full_device).status, 1);
}

TEST_F(MrzPools, ExplainThemselves)
{
    EXPECT_EQ(mrz({"--version"}).out.rfind("mrz ", 0), 0U);
    const ProgramResult help = mrz({"help", "pools", "set"});
    EXPECT_EQ(help.status, 0);
    EXPECT_NE(help.out.find("mrz pools set"), std::string::npos);
    EXPECT_NE(mrz({"--help"}).out.find("EAL"), std::string::npos);
    EXPECT_EQ(mrz({"help", "nothing"}).status, 2);
    EXPECT_EQ(mrz({}).status, 2);
}

} // namespace
} // namespace mrz::test
