// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! The storage workload's program: that its report is whole, and that it moved the data. Not how fast.
#include "../apps/mrz_program.hpp"

#include "support/pool_guard.hpp"

#include <gmock/gmock.h>

#include <map>
#include <optional>
#include <set>
#include <string>
#include <sys/resource.h>
#include <tuple>
#include <utility>
#include <vector>

namespace mrz::test {
namespace {

using namespace mrz::literals;
using testing::HasSubstr;

class BenchStorage : public MrzProgram {
  protected:
    void SetUp() override
    {
        MRZ_REQUIRE(geteuid() == 0, "changing page pools needs root");
        none_free_.emplace(2_MiB, 0); // so that the program has to reserve what it needs
        MrzProgram::SetUp();
    }
    void TearDown() override
    {
        MrzProgram::TearDown();
        none_free_.reset();
    }
    //! As little as shows everything, but for what is given.
    static std::vector<std::string> quick(std::map<std::string, std::string> options)
    {
        options.merge(std::map<std::string, std::string>{
            {"--memory", "16M"}, {"--sizes", "4K"}, {"--pages", "4K"}, {"--operations", "200"}, {"--rounds", "2"}});
        std::vector<std::string> words;
        for (const auto& [name, value] : options) {
            words.push_back(name);
            if (!value.empty())
                words.push_back(value);
        }
        return words;
    }

  private:
    std::optional<PoolGuard> none_free_;
};

TEST_F(BenchStorage, MovesTheRightBytesByEveryTierAndTellsOfEach)
{
    const auto [status, object] = mrz_json(quick(
        {{"--sizes", "4K,64K"}, {"--depths", "1,4"}, {"--pages", "4K,2M"}, {"--device", "soft"}, {"--rounds", "1"}}));
    ASSERT_EQ(status, 0) << object;
    EXPECT_EQ(object.at("driver"), "soft");
    EXPECT_EQ(object.at("memory"), 16_MiB);
    const Json& results = object.at("results");
    std::set<std::tuple<std::string, int, int, std::string>> seen;
    for (const Json& one : results) {
        seen.emplace(one.at("page"), one.at("depth"), one.at("size"), one.at("tier"));
        EXPECT_GE(one.at("operations"), 200) << one;
        EXPECT_EQ(one.at("rounds").size(), 1u) << one;
        EXPECT_GT(one.at("operations_per_second"), 0) << one;
        EXPECT_NEAR(one.at("bytes_per_second").get<double>(),
                    one.at("operations_per_second").get<double>() * one.at("size").get<double>(), 1);
        const Json& latency = one.at("latency_ns");
        EXPECT_GT(latency.at("p50"), 0) << one;
        EXPECT_LE(latency.at("p50"), latency.at("p99")) << one;
        EXPECT_LE(latency.at("p99"), latency.at("p99_9")) << one;
        EXPECT_LE(latency.at("p99_9"), latency.at("most")) << one;
        EXPECT_GT(one.at("times_each_time").at("median"), 0) << one;
        const std::string tier = one.at("tier");
        EXPECT_GE(one.at("pinned_bytes"), one.at("counted_bytes")) << one;
        if (tier == "each time") {
            EXPECT_EQ(one.at("keys"), one.at("depth")) << one;
            EXPECT_EQ(one.at("counted_bytes"), one.at("depth").get<std::size_t>() * one.at("size").get<std::size_t>())
                << one;
        } else if (tier == "resident") {
            EXPECT_EQ(one.at("counted_bytes"), 16_MiB) << one;
        } else {
            EXPECT_GE(one.at("hits").get<int>() + one.at("misses").get<int>(), 200) << one;
            EXPECT_GT(one.at("hits"), 0) << one;
            EXPECT_LE(one.at("counted_bytes"), 8_MiB) << one;
        }
    }
    EXPECT_EQ(seen.size(), results.size());
    EXPECT_EQ(results.size(), 2u * 2u * 2u * 4u);
    // Memory and store, of each.
    EXPECT_EQ(object.at("checked_bytes"), results.size() * 2 * 16_MiB);
}

TEST_F(BenchStorage, TellsAPersonTheSameInATable)
{
    const ProgramResult result =
        mrz(quick({{"--sizes", "4K,256K"}, {"--depths", "32"}, {"--reads", "0"}, {"--scattered", ""}}));
    ASSERT_EQ(result.status, 0) << result.err;
    for (const char* const text :
         {"each time", "temporary", "batch", "resident", "p99.9 us", "entries", "pinned KiB", "0 % reads",
          "in single blocks anywhere", "4K pages, 4K, depth 32: temporary / each time: ", "wanted: at least 3"})
        EXPECT_THAT(result.out, HasSubstr(text));
    EXPECT_THAT(result.err, HasSubstr("round 2 of 2"));
}

TEST_F(BenchStorage, RefusesWhatCannotBe)
{
    for (const auto& [name, value] :
         std::vector<std::pair<std::string, std::string>>{{"--sizes", "lots"},
                                                          {"--sizes", "0"},
                                                          {"--sizes", "100"},
                                                          {"--sizes", "3M"},
                                                          {"--sizes", "4M"}, // of which 16 MiB are four
                                                          {"--sizes", "4K,4K"},
                                                          {"--depths", "0"},
                                                          {"--depths", "1025"},
                                                          {"--pages", "1G"},
                                                          {"--memory", "3M"},
                                                          {"--memory", "0"},
                                                          {"--cache", "64K"}, // 32 operations of 4 KiB under way
                                                          {"--reads", "101"},
                                                          {"--rounds", "0"},
                                                          {"--operations", "0"},
                                                          {"--nonsense", ""}}) {
        SCOPED_TRACE(name + ' ' + value);
        expect_error(mrz_json(quick({{name, value}})), 2);
    }
    expect_error(mrz_json(quick({{"--device", "mlx5_9"}})), 7);
}

TEST_F(BenchStorage, NamesTheLockedMemoryLimitOfAnOrdinaryUser)
{
    const auto result = mrz_json(quick({}), {}, [] {
        const rlimit limit{.rlim_cur = 1_MiB, .rlim_max = 1_MiB};
        setrlimit(RLIMIT_MEMLOCK, &limit);
        become_nobody();
    });
    expect_error(result, 4);
    EXPECT_EQ(result.second.at("error").at("value"), 1_MiB);
}

} // namespace
} // namespace mrz::test
