// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! What registrations by direct verbs become in mrz-hca's tables, against what was planned for them: the page size,
//! each translation, the keys below others, and the rights. Runs on the host, where the device can be asked.
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

namespace mrz::test {
namespace {

using nlohmann::json;
using Keys = std::map<std::uint64_t, json>;

std::uint64_t number(const json& hex)
{
    return std::stoull(hex.get<std::string>(), nullptr, 16);
}

Keys keys_of(const std::filesystem::path& control)
{
    const ProgramResult asked =
        RunningProgram{{variable("MRZ_HCA"), "control", control, "get", "keys", "most=100000", "words=65536"}}.wait();
    EXPECT_EQ(asked.status, 0) << asked.err;
    Keys found;
    const json all = json::parse(asked.out);
    for (const json& key : all.at("keys"))
        found[number(key.at("key"))] = key;
    return found;
}

//! One direct key: its page size, and each of its translations.
void expect_pages(const json& plan, const json& key)
{
    EXPECT_EQ(key.at("mode"), "mtt");
    EXPECT_EQ(number(key.at("start")), plan.at("start"));
    EXPECT_EQ(key.at("bytes"), plan.at("bytes"));
    EXPECT_EQ(key.at("page_shift"), plan.at("page_shift"));
    const std::uint64_t entries = plan.at("entries");
    EXPECT_EQ(plan.at("pages").size(), entries);
    EXPECT_EQ(key.at("octwords"), (entries + 1) / 2);
    ASSERT_GE(key.at("words").size(), entries);
    for (std::size_t i = 0; i < entries; ++i)
        EXPECT_EQ(number(key.at("words").at(i)) & ~std::uint64_t{0xfff}, plan.at("pages").at(i)) << "of page " << i;
}

//! A key over others: what each entry says, and the key that it leads to.
void expect_entries(const json& plan, const json& key, const Keys& seen)
{
    EXPECT_EQ(key.at("mode"), plan.at("indirect"));
    EXPECT_EQ(number(key.at("start")), plan.at("start"));
    EXPECT_EQ(key.at("bytes"), plan.at("bytes"));
    if (plan.contains("page_shift")) {
        EXPECT_EQ(key.at("page_shift"), plan.at("page_shift"));
    }
    const json& below = plan.at("below");
    EXPECT_EQ(key.at("octwords"), (below.size() + 3) / 4 * 4);
    ASSERT_GE(key.at("words").size(), 2 * below.size());
    for (std::size_t i = 0; i < below.size(); ++i) {
        SCOPED_TRACE("entry " + std::to_string(i));
        const std::uint64_t head = number(key.at("words").at(2 * i));
        EXPECT_EQ(number(key.at("words").at(2 * i + 1)), below[i].at("leads_to"));
        if (plan.at("indirect") == "klm") {
            EXPECT_EQ(head >> 32, below[i].at("length"));
        }
        const auto found = seen.find(head & 0xffffffff);
        ASSERT_NE(found, seen.end());
        expect_pages(below[i], found->second);
    }
}

} // namespace

TEST(ConnectXDirect, IsBuiltAsPlanned)
{
    const SharedFolder shared;
    const std::filesystem::path& folder = shared.path;
    RunningProgram guest{{variable("MRZ_VM"), "run", "--kernel", variable("MRZ_KERNEL"), "--timeout", "1500",
                          "--memory", "8G", "--hugepages", "1G=1", "--output", folder,
                          "--hca=registration=command,control=" + (folder / "control").string(), "--",
                          variable("MRZ_REGISTRAR"), folder}};
    if (!guest.wait_for_error("registered\n")) {
        const ProgramResult result = guest.wait();
        MRZ_REQUIRE(result.status != Guest::missing, result.err);
        FAIL() << result.status << ": " << result.out << result.err;
    }
    const Keys seen = keys_of(folder / "control");
    std::ofstream{folder / "seen"};
    const ProgramResult result = guest.wait();
    EXPECT_EQ(result.status, 0) << result.out << result.err;
    std::cout << result.out;

    std::set<unsigned> page_shifts;
    unsigned indirect = 0;
    const json planned = json::parse(std::ifstream{folder / "planned"});
    for (const json& plan : planned) {
        SCOPED_TRACE(plan.at("what").get<std::string>());
        const auto found = seen.find(plan.at("key"));
        ASSERT_NE(found, seen.end());
        const json& key = found->second;
        if (plan.contains("below")) {
            ++indirect;
            expect_entries(plan, key, seen);
        } else {
            page_shifts.insert(key.at("page_shift").get<unsigned>());
            expect_pages(plan, key);
        }
        EXPECT_EQ(key.at("rights"), plan.at("rights"));
    }
    EXPECT_GE(planned.size(), 70U);
    EXPECT_GE(indirect, 5U);
    EXPECT_THAT(page_shifts, testing::IsSupersetOf({12U, 21U, 29U, 30U}));
}

} // namespace mrz::test
