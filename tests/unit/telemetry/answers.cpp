// SPDX-License-Identifier: BSD-3-Clause
#include "answers.hpp"

#include <mrzone/telemetry.hpp>

#include "support/fake_driver.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <deque>
#include <functional>
#include <optional>
#include <set>

namespace mrz::test {
namespace {

using namespace telemetry;
using testing::HasSubstr;

constexpr Room plenty{.fields = 1000, .bytes = 1'000'000, .word = 1000};

class Answers : public testing::Test {
  protected:
    void SetUp() override
    {
        script() = {};
        script().hardware = {"hw0", "hw1"};
    }

    static Fields ask(std::string_view command, std::string_view parameters = {})
    {
        const auto known = std::ranges::find(commands(), command, &Command::name);
        EXPECT_NE(known, commands().end()) << command;
        return known->answer(parameters);
    }
    static Error refusal(std::string_view command, std::string_view parameters)
    {
        try {
            static_cast<void>(ask(command, parameters));
        } catch (const Error& error) {
            return error;
        }
        ADD_FAILURE() << command << "," << parameters << " was answered";
        return Error{1, {.what = {}, .limit = {}, .remedy = {}}};
    }
    static std::uint64_t number(const Fields& fields, const std::string& name)
    {
        const auto found = std::ranges::find(fields, name, &Field::name);
        EXPECT_NE(found, fields.end()) << name;
        return found == fields.end() ? ~std::uint64_t{0} : std::get<std::uint64_t>(found->value);
    }
    static std::string word(const Fields& fields, const std::string& name)
    {
        const auto found = std::ranges::find(fields, name, &Field::name);
        EXPECT_NE(found, fields.end()) << name;
        return found == fields.end() ? "" : std::get<std::string>(found->value);
    }
};

TEST_F(Answers, CommandsAreWhatDpdkTakes)
{
    std::set<std::string_view> names;
    for (const Command& command : commands()) {
        EXPECT_TRUE(names.insert(command.name).second) << command.name;
        EXPECT_TRUE(std::string_view{command.name}.starts_with("/mrzone/"));
        EXPECT_LT(std::string_view{command.help}.size(), 128u) << command.help;
    }
}

TEST_F(Answers, ListsGiveNumbersAndNames)
{
    EXPECT_EQ(number(ask("/mrzone/domains"), "total"), 0u);
    const Domain one = Domain::open("hw0");
    const Domain other = Domain::open("hw1");
    const Fields fields = ask("/mrzone/domains");
    EXPECT_EQ(fields.size(), 3u);
    EXPECT_EQ(number(fields, "total"), 2u);
    EXPECT_EQ(word(fields, std::to_string(one.number())), "hw0");
    EXPECT_EQ(word(fields, std::to_string(other.number())), "hw1");
    const Fields rest = ask("/mrzone/domains", std::to_string(other.number()));
    EXPECT_EQ(rest.size(), 2u);
    EXPECT_EQ(number(rest, "total"), 2u);
    EXPECT_EQ(number(ask("/mrzone/arenas"), "total"), 0u);
    EXPECT_EQ(refusal("/mrzone/domains", "x").error_number(), EINVAL);
    EXPECT_EQ(refusal("/mrzone/domains", "-1").error_number(), EINVAL);
}

TEST_F(Answers, OneIsFoundByNumberAndByNameUnlessSeveralHaveIt)
{
    const Domain one = Domain::open("hw0");
    const Domain other = Domain::open("hw1");
    EXPECT_EQ(number(ask("/mrzone/domain", "hw1"), "number"), other.number());
    EXPECT_EQ(word(ask("/mrzone/domain", std::to_string(one.number())), "device"), "hw0");
    const Domain twin = Domain::open("hw1");
    const Error several = refusal("/mrzone/domain", "hw1");
    EXPECT_EQ(several.error_number(), EINVAL);
    EXPECT_THAT(several.cause().limit, HasSubstr("several"));
    EXPECT_THAT(several.cause().remedy, HasSubstr("/mrzone/domains"));
    EXPECT_EQ(refusal("/mrzone/domain", "").error_number(), EINVAL);
    for (const std::string& wrong : {std::string{"hw9"}, std::string{"-1"}, std::string{"1 "},
                                     std::to_string(twin.number() + 1), std::string{"99999999999999999999999"}})
        EXPECT_EQ(refusal("/mrzone/domain", wrong).error_number(), ENOENT) << wrong;
    EXPECT_EQ(refusal("/mrzone/arena", "data").error_number(), ENOENT);
}

TEST_F(Answers, ShowWhatADomainAndACacheHold)
{
    std::vector<std::byte> memory(8192);
    const Domain domain = Domain::open("hw0");
    Cache cache{domain};
    const Lease lease = cache.lease(memory);
    EXPECT_EQ(number(ask("/mrzone/domain", "hw0"), "temporary/regions"), 1u);
    EXPECT_EQ(number(ask("/mrzone/cache", "hw0"), "leases"), 1u);
    EXPECT_EQ(number(ask("/mrzone/cache", std::to_string(cache.number())), "domain"), domain.number());
    EXPECT_EQ(word(ask("/mrzone/caches"), std::to_string(cache.number())), "hw0");
}

TEST_F(Answers, PoolsTakeNoParameter)
{
    EXPECT_NO_THROW(static_cast<void>(ask("/mrzone/pools")));
    EXPECT_EQ(refusal("/mrzone/pools", "2M").error_number(), EINVAL);
}

TEST_F(Answers, AnErrorIsOneWithAllThatIsKnown)
{
    const Fields fields =
        answer_of(Error{ENOMEM, {.what = "it", .limit = "memory", .present = 1, .need = 2, .remedy = "buy some"}});
    EXPECT_EQ(number(fields, "error/errno"), std::uint64_t{ENOMEM});
    EXPECT_EQ(word(fields, "error/what"), "it");
    EXPECT_EQ(word(fields, "error/limit"), "memory");
    EXPECT_EQ(number(fields, "error/value"), 1u);
    EXPECT_EQ(number(fields, "error/need"), 2u);
    EXPECT_EQ(word(fields, "error/remedy"), "buy some");
}

TEST_F(Answers, ThatFitStayAsTheyAre)
{
    Fields fields{{"a", std::uint64_t{1}}, {"b", "two"}};
    fit(fields, {.fields = 3, .bytes = 200, .word = 3});
    ASSERT_EQ(fields.size(), 2u);
    EXPECT_EQ(word(fields, "b"), "two");
}

TEST_F(Answers, ThatAreTooLongCountWhatIsLeftOut)
{
    const Domain some[] = {Domain::open("hw0"), Domain::open("hw0"), Domain::open("hw0"), Domain::open("hw0")};
    Fields by_count = ask("/mrzone/domains");
    fit(by_count, {.fields = 4, .bytes = plenty.bytes, .word = 10});
    ASSERT_EQ(by_count.size(), 4u);
    EXPECT_EQ(number(by_count, "total"), 4u);
    EXPECT_EQ(number(by_count, "left_out"), 2u);
    Fields by_bytes = ask("/mrzone/domains");
    fit(by_bytes, {.fields = plenty.fields, .bytes = 90, .word = 10});
    EXPECT_EQ(number(by_bytes, "left_out") + by_bytes.size() - 2, 4u);
    EXPECT_GT(number(by_bytes, "left_out"), 0u);
    EXPECT_EQ(word(by_count, std::to_string(some[0].number())), "hw0");
}

TEST_F(Answers, WordsAreCutAndMadeAscii)
{
    Fields fields{{"cut", "0123456789"}, {"made", "a\n\xc3\xa9z"}};
    fit(fields, {.fields = 9, .bytes = 1000, .word = 8});
    EXPECT_EQ(word(fields, "cut"), "01234...");
    EXPECT_EQ(word(fields, "made"), "a???z");
}

TEST_F(Answers, AreNotOfferedWhereNoEalRuns)
{
    try {
        static_cast<void>(offer_telemetry());
        ADD_FAILURE();
    } catch (const Error& error) {
        EXPECT_EQ(error.error_number(), ENODEV);
        EXPECT_EQ(error.cause().trouble, Trouble::unsupported);
        EXPECT_THAT(error.what(), HasSubstr("rte_eal_init"));
    }
}

} // namespace
} // namespace mrz::test
