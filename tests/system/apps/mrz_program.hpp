// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! The real mrz, run as a person would, with a journal of its own.
#pragma once

#include "support/require.hpp"
#include "support/run_program.hpp"

#include <mrzone/hugepage.hpp>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <poll.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

namespace mrz::test {

using Json = nlohmann::json;

class MrzProgram : public testing::Test {
  protected:
    void SetUp() override
    {
        setenv("MRZ_RUN_DIR", run_dir.c_str(), 1);
        if (needs_root)
            MRZ_REQUIRE(geteuid() == 0, "changing page pools needs root");
        before = pages();
    }
    void TearDown() override
    {
        // What AF_XDP pinned the kernel gives back by a worker of its own, perhaps after the program has ended; until
        // then the pool counts these pages as surplus.
        for (int tries = 0; pages() != before && tries < 1000; ++tries)
            ::poll(nullptr, 0, 10);
        EXPECT_EQ(pages(), before) << "the pool is not what it was";
        EXPECT_FALSE(std::filesystem::exists(run_dir)) << "the journal was left behind";
    }

    static std::vector<std::string> command(std::vector<std::string> arguments)
    {
        arguments.insert(arguments.begin(), std::getenv("MRZ_PROGRAM"));
        return arguments;
    }
    static ProgramResult mrz(
        std::vector<std::string> arguments, const std::string& input = {}, const std::function<void()>& child = [] {})
    {
        return RunningProgram{command(std::move(arguments)), input, child}.wait();
    }
    //! Runs it with --json; standard output must be exactly one object of schema 1.
    static std::pair<int, Json> mrz_json(
        std::vector<std::string> arguments, const std::string& input = {}, const std::function<void()>& child = [] {})
    {
        arguments.emplace_back("--json");
        const ProgramResult result = mrz(std::move(arguments), input, child);
        Json object = Json::parse(result.out, nullptr, false);
        EXPECT_TRUE(object.is_object()) << "out: " << result.out << "\nerr: " << result.err;
        if (!object.is_object())
            return {result.status, Json::object()};
        EXPECT_EQ(object.value("schema", 0), 1);
        return {result.status, std::move(object)};
    }
    static void expect_error(const std::pair<int, Json>& result, int status)
    {
        EXPECT_EQ(result.first, status) << result.second;
        ASSERT_TRUE(result.second.contains("error")) << result.second;
        const Json& error = result.second.at("error");
        for (const char* const key : {"errno", "what", "limit", "value", "need", "remedy"})
            EXPECT_TRUE(error.contains(key)) << key;
        EXPECT_GT(error.value("errno", 0), 0);
        EXPECT_FALSE(error.value("remedy", "").empty());
    }
    //! The size that the pool of 2-MiB pages was given.
    static std::uint64_t pages()
    {
        const Pool pool = read_pool(std::size_t{2} << 20);
        return pool.total - pool.surplus;
    }
    static std::string pool_of(std::uint64_t count) { return std::to_string(count * 2) + "M@2M"; }

    bool needs_root = true;
    // Where only root may write, as the real one.
    std::filesystem::path run_dir = (geteuid() == 0 ? "/run" : std::filesystem::temp_directory_path()) /
                                    std::filesystem::path{"mrz-test-" + std::to_string(getpid())};
    std::uint64_t before = 0;
};

} // namespace mrz::test
