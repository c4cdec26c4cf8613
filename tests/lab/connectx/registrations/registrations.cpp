// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! What registrations with the kernel's own driver become in mrz-hca's tables, against what was planned for them: the
//! page size, the room for translations, and each of these. Runs on the host, where the device can be asked.
#include "../guest.hpp"
#include "support/require.hpp"
#include "support/run_program.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace mrz::test {
namespace {

using nlohmann::json;

std::uint64_t number(const json& hex)
{
    return std::stoull(hex.get<std::string>(), nullptr, 16);
}

//! The start of the page that a translation names; rights are below it.
std::uint64_t page_of(const json& word)
{
    return number(word) & ~std::uint64_t{0xfff};
}

//! How keys get their translations.
class ConnectXRegistrations : public testing::TestWithParam<const char*> {
  protected:
    //! What the device has, by key.
    [[nodiscard]] std::map<std::uint64_t, json> keys() const
    {
        const ProgramResult asked = RunningProgram{
            {variable("MRZ_HCA"), "control", folder_ / "control", "get", "keys", "most=100000",
             "words=65536"}}.wait();
        EXPECT_EQ(asked.status, 0) << asked.err;
        std::map<std::uint64_t, json> found;
        const json all = json::parse(asked.out);
        for (const json& key : all.at("keys"))
            found[number(key.at("key"))] = key;
        return found;
    }

    const SharedFolder shared_;
    const std::filesystem::path& folder_ = shared_.path;
};

} // namespace

TEST_P(ConnectXRegistrations, AreBuiltAsPlanned)
{
    RunningProgram guest{
        {variable("MRZ_VM"), "run", "--kernel", variable("MRZ_KERNEL"), "--timeout", "600", "--memory", "5G",
         "--hugepages", "2M=64,1G=1", "--output", folder_,
         std::string{"--hca=registration="} + GetParam() + ",control=" + (folder_ / "control").string(), "--",
         variable("MRZ_REGISTRAR"), folder_}};
    if (!guest.wait_for_error("registered\n")) {
        const ProgramResult result = guest.wait();
        MRZ_REQUIRE(result.status != Guest::missing, result.err);
        FAIL() << result.status << ": " << result.out << result.err;
    }
    const std::map<std::uint64_t, json> seen = keys();
    std::ofstream{folder_ / "seen"};
    const ProgramResult result = guest.wait();
    EXPECT_EQ(result.status, 0) << result.out << result.err;

    std::set<unsigned> page_shifts;
    const json planned = json::parse(std::ifstream{folder_ / "planned"});
    EXPECT_GE(planned.size(), 11U);
    for (const json& plan : planned) {
        SCOPED_TRACE(plan.at("what").get<std::string>());
        const auto found = seen.find(plan.at("key"));
        ASSERT_NE(found, seen.end());
        const json& key = found->second;
        page_shifts.insert(key.at("page_shift").get<unsigned>());
        std::printf("%-45s page shift %u, octwords %llu\n", plan.at("what").get<std::string>().c_str(),
                    key.at("page_shift").get<unsigned>(), key.at("octwords").get<unsigned long long>());
        EXPECT_EQ(number(key.at("start")), plan.at("start"));
        EXPECT_EQ(key.at("bytes"), plan.at("bytes"));
        EXPECT_EQ(key.at("page_shift"), plan.at("page_shift"));
        // Keys of the driver's own cache may have room for more.
        const std::uint64_t entries = plan.at("entries");
        EXPECT_GE(key.at("octwords").get<std::uint64_t>(), (entries + 1) / 2);
        ASSERT_GE(key.at("words").size(), entries);
        EXPECT_EQ(plan.at("pages").size(), entries);
        for (std::size_t i = 0; i < plan.at("pages").size(); ++i)
            EXPECT_EQ(page_of(key.at("words").at(i)), plan.at("pages").at(i)) << "of page " << i;
    }
    EXPECT_THAT(page_shifts, testing::IsSupersetOf({12U, 21U, 30U}));
}

INSTANTIATE_TEST_SUITE_P(By, ConnectXRegistrations, testing::Values("command", "umr"),
                         [](const auto& of) { return std::string{of.param}; });

} // namespace mrz::test
