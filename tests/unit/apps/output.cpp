// SPDX-License-Identifier: BSD-3-Clause
#include "common/output.hpp"

#include "common/exit_status.hpp"
#include "common/signals.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <csignal>

namespace mrz::app {
namespace {

int status_of(const std::function<void()>& work)
{
    testing::internal::CaptureStderr();
    const int status = run_and_report(false, work);
    testing::internal::GetCapturedStderr();
    return status;
}

[[noreturn]] void throw_trouble(Trouble trouble)
{
    Cause cause;
    cause.trouble = trouble;
    throw Error{EIO, std::move(cause)};
}

TEST(ExitStatus, SaysWhatKindOfTroubleItWas)
{
    const std::pair<Trouble, int> table[] = {
        {Trouble::internal, 1},   {Trouble::invalid, 2}, {Trouble::hugepages, 3},   {Trouble::locked_memory, 4},
        {Trouble::permission, 5}, {Trouble::cgroup, 6},  {Trouble::unsupported, 7}, {Trouble::busy, 8},
        {Trouble::data, 9},       {Trouble::peer, 10},
    };
    for (const auto& [trouble, status] : table)
        EXPECT_EQ(status_of([kind = trouble] { throw_trouble(kind); }), status);
}

TEST(ExitStatus, IsInternalForWhatNobodyExpected)
{
    EXPECT_EQ(status_of([] {}), 0);
    EXPECT_EQ(status_of([] { throw std::runtime_error{"x"}; }), 1);
    EXPECT_EQ(status_of([] { throw std::bad_alloc{}; }), 1);
    EXPECT_EQ(status_of([] { throw 1; }), 1);
}

TEST(ExitStatus, IsThatOfASignalForAnInterruption)
{
    EXPECT_EQ(status_of([] { throw Interrupted{SIGINT}; }), 130);
    EXPECT_EQ(status_of([] { throw Interrupted{SIGTERM}; }), 143);
}

TEST(ErrorJson, HoldsTheSixPartsOfACause)
{
    const Cause cause{.trouble = Trouble::hugepages,
                      .what = "5 pages",
                      .limit = "free pages",
                      .present = 3,
                      .need = 5,
                      .remedy = "mrz pools set 10M@2M"};
    EXPECT_EQ(
        error_to_json(12, cause),
        Json::parse(R"({"schema": 1, "error": {"errno": 12, "what": "5 pages", "limit": "free pages", "value": 3,
                              "need": 5, "remedy": "mrz pools set 10M@2M"}})"));
}

TEST(ErrorJson, SaysNullForWhatIsUnknown)
{
    const Json error = error_to_json(1, Cause{}).at("error");
    EXPECT_TRUE(error.at("value").is_null());
    EXPECT_TRUE(error.at("need").is_null());
}

TEST(ErrorJson, IsOneObjectOnStandardOutputAndTheLineOnStandardError)
{
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    const int status = run_and_report(true, [] {
        throw Error{EPERM, Cause{.trouble = Trouble::permission, .what = "it", .limit = "root", .remedy = "sudo"}};
    });
    const std::string line = testing::internal::GetCapturedStderr();
    const Json object = Json::parse(testing::internal::GetCapturedStdout());
    EXPECT_EQ(status, 5);
    EXPECT_EQ(object.at("error").at("errno"), EPERM);
    EXPECT_NE(line.find("sudo"), std::string::npos);
}

TEST(Table, AlignsColumnsAndTrimsLines)
{
    Table table{{"name", ">count", ""}};
    table.add({"a", "100", ""});
    table.add({"longer", "7", "x"});
    EXPECT_EQ(table.text(), "name    count\n"
                            "a         100\n"
                            "longer      7  x\n");
}

} // namespace
} // namespace mrz::app
