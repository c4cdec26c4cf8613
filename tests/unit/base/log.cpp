// SPDX-License-Identifier: BSD-3-Clause
#include <mrzone/base.hpp>

#include <gtest/gtest.h>

#include <string>
#include <vector>

using namespace mrz;

namespace {

class Log : public testing::Test {
  protected:
    Log()
    {
        set_log_sink([this](Severity, std::string_view line) { lines.emplace_back(line); });
    }
    ~Log() override { set_log_sink({}); }

    std::vector<std::string> lines;
};

} // namespace

TEST_F(Log, GoesToTheSink)
{
    log(Severity::info, "one");
    log(Severity::error, "two");
    EXPECT_EQ(lines, (std::vector<std::string>{"one", "two"}));
}

TEST_F(Log, OnceIsOnceForEachLine)
{
    for (int i = 0; i < 3; ++i) {
        log_once(Severity::warning, "frames are hidden");
        log_once(Severity::warning, "the IOMMU translates");
    }
    EXPECT_EQ(lines, (std::vector<std::string>{"frames are hidden", "the IOMMU translates"}));
}

TEST_F(Log, ASinkThatThrowsOrLogsIsHarmless)
{
    set_log_sink([](Severity, std::string_view) { throw 1; });
    log(Severity::error, "lost");
    set_log_sink([this](Severity, std::string_view line) {
        lines.emplace_back(line);
        if (line == "outer")
            log(Severity::info, "inner");
    });
    log(Severity::info, "outer");
    EXPECT_EQ(lines, (std::vector<std::string>{"outer", "inner"}));
}
