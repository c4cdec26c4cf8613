// SPDX-License-Identifier: BSD-3-Clause
#include "mrz_program.hpp"

#include "support/pool_guard.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <fstream>
#include <sched.h>
#include <sys/stat.h>

namespace mrz::test {
namespace {

class MrzPlan : public MrzProgram {
  protected:
    MrzPlan() { needs_root = false; }

    static Json plan(const std::string& layout)
    {
        auto [status, object] = mrz_json({"plan", "--layout", "-"}, layout);
        EXPECT_EQ(status, 0) << object;
        return object;
    }
};

TEST_F(MrzPlan, CountsEntriesOfMemoryThatIsCongruentOnlyTo2MiB)
{
    const Json object = plan(R"({"iova": "0x80000000", "indirect": false,
                                 "extents": [{"dma": "0x40200000", "length": 134217728}]})");
    EXPECT_EQ(object.at("mtt_entries"), 64);
    EXPECT_EQ(object.at("total_entries"), 64);
    EXPECT_EQ(object.at("cost"), 65);
    EXPECT_EQ(object.at("mkeys"),
              Json::parse(R"([{"iova": "0x80000000", "length": 134217728, "page_shift": 21, "entries": 64}])"));
    EXPECT_TRUE(object.at("indirect").is_null());
    EXPECT_EQ(object.at("limit"), Json::parse(R"({"term": "congruence", "bit": 21, "at": "0x80000000"})"));
    EXPECT_FALSE(object.contains("umems"));
}

TEST_F(MrzPlan, ChoosesTheIovaIfItMay)
{
    EXPECT_EQ(plan(R"({"iova": null, "extents": [{"dma": "0x40000000", "length": 134217728}]})").at("mtt_entries"),
              1);
}

TEST_F(MrzPlan, CountsEntriesOfBreaks)
{
    EXPECT_EQ(plan(R"({"iova": "0x40000000", "extents": [{"dma": "0x40000000", "length": 67108864},
                                                         {"dma": "0x84000000", "length": 67108864}]})")
                  .at("mtt_entries"),
              2);
    const Json uneven = plan(R"({"iova": "0x40000000", "indirect": false,
                                 "extents": [{"dma": "0x40000000", "length": 65011712},
                                                                   {"dma": "0x83e00000", "length": 69206016}]})");
    EXPECT_EQ(uneven.at("mtt_entries"), 64);
    EXPECT_EQ(uneven.at("limit").at("term"), "break");
}

TEST_F(MrzPlan, CutsWhereThatCostsLess)
{
    const std::string uneven = R"("extents": [{"dma": "0x40000000", "length": 65011712},
                                              {"dma": "0x83e00000", "length": 69206016}]})";
    const Json under_one = plan(R"({"iova": "0x40000000", )" + uneven);
    EXPECT_EQ(under_one.at("mkeys").size(), 2U);
    EXPECT_EQ(under_one.at("indirect").at("entries"), 2);
    EXPECT_EQ(under_one.at("cost"), under_one.at("mtt_entries").get<int>() + 3 + 2);
    const Json side_by_side = plan(R"({"single_key": false, )" + uneven);
    EXPECT_TRUE(side_by_side.at("indirect").is_null());
    EXPECT_EQ(side_by_side.at("mkeys").size(), 2U);
    const Json dear = plan(R"({"weights": {"mkey": 1000}, )" + uneven);
    EXPECT_EQ(dear.at("mkeys").size(), 1U);
    EXPECT_EQ(dear.at("cost"), 1064);
}

TEST_F(MrzPlan, SaysWhichUmemsUnderTheUmemsRule)
{
    EXPECT_EQ(plan(R"({"umem": true, "extents": [{"dma": "0x40000000", "length": 134217728}]})").at("umems").size(),
              1U);
}

TEST_F(MrzPlan, ReadsAFileAndSaysItToAPerson)
{
    const std::filesystem::path path =
        std::filesystem::temp_directory_path() / (run_dir.filename().string() + ".json");
    std::ofstream{path} << R"({"iova": "0x40000000", "extents": [{"dma": "0x40000000", "length": 1073741824}]})";
    const ProgramResult result = mrz({"plan", "--layout", path});
    std::filesystem::remove(path);
    EXPECT_EQ(result.status, 0);
    EXPECT_EQ(result.out.rfind("1 key, 1 entry of 1 GiB", 0), 0U) << result.out;
}

TEST_F(MrzPlan, RefusesABadFile)
{
    expect_error(mrz_json({"plan", "--layout", "-"}, "{"), 2);
    expect_error(mrz_json({"plan", "--layout", "-"}, R"({"extents": []})"), 2);
    expect_error(mrz_json({"plan", "--layout", "-"}, R"({"extents": [{"dma": "1", "length": 4096}]})"), 2);
    expect_error(mrz_json({"plan", "--layout", "/does/not/exist"}), 2);
    expect_error(mrz_json({"plan", "--layout", "/"}), 2);
    expect_error(mrz_json({"plan", "--layout", "/dev/zero"}), 2);
}

TEST_F(MrzPlan, ReadsAMillionExtentsInSeconds)
{
    const std::filesystem::path path =
        std::filesystem::temp_directory_path() / (run_dir.filename().string() + ".json");
    {
        std::ofstream file{path};
        file << R"({"extents": [{"dma": "0x0", "length": 4096})";
        for (int i = 1; i < 1'000'000; ++i)
            file << R"(,{"dma": "0x)" << std::hex << i * 0x2000L << R"(", "length": 4096})";
        file << "]}";
    }
    const auto limit = [] { alarm(60); }; // it takes one or two; what is quadratic takes hours
    const ProgramResult result = mrz({"plan", "--layout", path}, {}, limit);
    std::filesystem::remove(path);
    EXPECT_EQ(result.status, 0) << result.err;
}

TEST_F(MrzPlan, StopsWaitingForAPipeWhenInterrupted)
{
    const std::filesystem::path path =
        std::filesystem::temp_directory_path() / (run_dir.filename().string() + ".pipe");
    ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
        const auto fresh = [signal] { // whatever the tests themselves inherited
            std::signal(signal, SIG_DFL);
            alarm(20);
        };
        RunningProgram program{command({"plan", "--layout", path, "--json"}), {}, fresh};
        // Opening for writing succeeds once the program has the pipe open for reading.
        int writer = -1;
        while ((writer = open(path.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC)) < 0 && errno == ENXIO)
            sched_yield();
        kill(program.pid(), signal);
        const ProgramResult result = program.wait();
        close(writer);
        EXPECT_EQ(result.status, 128 + signal);
        EXPECT_EQ(Json::parse(result.out).at("error").at("errno"), EINTR);
    }
    std::filesystem::remove(path);
}

TEST_F(MrzPlan, LeavesSignalsAloneThatWereIgnoredBefore)
{
    const std::filesystem::path path =
        std::filesystem::temp_directory_path() / (run_dir.filename().string() + ".pipe");
    ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
    RunningProgram program{command({"plan", "--layout", path}), {}, [] {
                               std::signal(SIGHUP, SIG_IGN); // as nohup does
                               alarm(20);
                           }};
    const int writer = open(path.c_str(), O_WRONLY | O_CLOEXEC);
    kill(program.pid(), SIGHUP);
    const std::string text = R"({"extents": [{"dma": "0x0", "length": 4096}]})";
    EXPECT_EQ(write(writer, text.data(), text.size()), static_cast<ssize_t>(text.size()));
    close(writer);
    EXPECT_EQ(program.wait().status, 0);
    std::filesystem::remove(path);
}

TEST_F(MrzPlan, SaysOneObjectHoweverJsonIsAskedFor)
{
    const ProgramResult result = mrz({"plan", "--json=true", "--nothing"});
    EXPECT_EQ(result.status, 2);
    EXPECT_TRUE(Json::parse(result.out).contains("error"));
    EXPECT_EQ(mrz({"plan", "--json=false", "--nothing"}).out, "");
}

TEST_F(MrzPlan, TellsAPersonWhatLimitsAnArena)
{
    EXPECT_NE(mrz({"plan", "--size", "64M"}).out.find("limited by length"), std::string::npos);
}

TEST_F(MrzPlan, PromisesBetweenTheBestAndTheGuaranteed)
{
    const auto [status, object] = mrz_json({"plan", "--size", "64M", "--page", "2M"});
    EXPECT_EQ(status, 0);
    EXPECT_EQ(object.at("best").at("mtt_entries"), 1);
    EXPECT_EQ(object.at("guaranteed").at("mtt_entries"), 32);
    EXPECT_EQ(object.at("pages"), 33) << "one for the header";
}

class MrzPlanCompares : public MrzPlan {
  protected:
    void SetUp() override
    {
        MRZ_REQUIRE(geteuid() == 0, "changing page pools needs root");
        MrzPlan::SetUp();
    }
};

TEST_F(MrzPlanCompares, WhatThreeKindsOfMemoryNeed)
{
    const PoolGuard pool{2_MiB, 120};
    scramble_pool(2_MiB);
    const auto [status, object] = mrz_json({"plan", "--size", "64M"});
    ASSERT_EQ(status, 0) << object;
    ASSERT_TRUE(object.at("compared").is_array()) << object;
    const Json& kinds = object.at("compared");
    ASSERT_EQ(kinds.size(), 3U);
    for (std::size_t i = 0; i < 3; ++i) {
        EXPECT_EQ(kinds.at(i).at("kind"), (std::array{"dpdk", "mapping", "arena"}.at(i)));
        ASSERT_TRUE(kinds.at(i).at("refused").is_null()) << kinds.at(i);
        EXPECT_TRUE(kinds.at(i).at("frames_known"));
        EXPECT_GE(kinds.at(i).at("plan").at("mtt_entries"), object.at("best").at("mtt_entries"));
        EXPECT_LE(kinds.at(i).at("plan").at("mtt_entries"), object.at("guaranteed").at("mtt_entries"));
        EXPECT_LE(kinds.at(2).at("plan").at("mtt_entries"), kinds.at(i).at("plan").at("mtt_entries"));
    }
    EXPECT_EQ(pool.free(), 120U) << "everything was given back";
    EXPECT_NE(mrz({"plan", "--size", "64M"}).out.find("mmap MAP_HUGETLB, as it comes"), std::string::npos);
}

TEST_F(MrzPlanCompares, NothingWhereThePoolHasNotThePagesAndSaysWhy)
{
    const PoolGuard pool{2_MiB, 20};
    const auto [status, object] = mrz_json({"plan", "--size", "64M"});
    ASSERT_EQ(status, 0) << object;
    EXPECT_TRUE(object.at("compared").is_null());
    EXPECT_NE(object.at("not_compared").get<std::string>().find("mrz pools set"), std::string::npos) << object;
    EXPECT_EQ(object.at("guaranteed").at("mtt_entries"), 32);
}

TEST_F(MrzPlanCompares, WhatAnOrdinaryUserCanKnow)
{
    const PoolGuard pool{2_MiB, 120};
    const auto [status, object] = mrz_json({"plan", "--size", "64M"}, {}, become_nobody);
    ASSERT_EQ(status, 0) << object;
    ASSERT_TRUE(object.at("compared").is_array()) << object;
    for (const Json& kind : object.at("compared")) {
        EXPECT_FALSE(kind.at("frames_known"));
        EXPECT_EQ(kind.at("plan").at("mtt_entries"), 32) << "no more is guaranteed";
    }
    EXPECT_FALSE(object.at("unknown").is_null());
}

TEST_F(MrzPlan, RefusesSizesThatNoArenaCanHave)
{
    expect_error(mrz_json({"plan", "--size", "0"}), 2);
    expect_error(mrz_json({"plan", "--size", "3M"}), 2);
    expect_error(mrz_json({"plan", "--size", "18446744073709551615"}), 3);
    expect_error(mrz_json({"plan", "--size", "64T"}), 3);
    expect_error(mrz_json({"plan", "--size", "8M", "--page", "4M"}), 3);
    expect_error(mrz_json({"plan"}), 2);
    expect_error(mrz_json({"plan", "--size", "2M", "--layout", "-"}), 2);
}

} // namespace
} // namespace mrz::test
