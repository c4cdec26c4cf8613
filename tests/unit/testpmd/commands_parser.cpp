// SPDX-License-Identifier: BSD-3-Clause
#include "testpmd/commands_parser.hpp"

#include "testpmd/commands.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

namespace mrz::testpmd {
namespace {

const std::vector<CommandPattern> few = {
    {"start", "go"},
    {"start tx_first", "go, with packets"},
    {"start tx_first <count>", "go, with so many"},
    {"show port info|stats all", "of all"},
    {"show port info|stats <port>", "of one"},
    {"set fwd <mode>", "how"},
    {"set txpkts <lengths>", "what"},
    {"set burst <packets>", "how many"},
};

//! The pattern that a line is, or why it is none.
std::string read_as(const std::string& line)
{
    CommandParser parser{few};
    const ParsedLine parsed = parser.parse(line);
    switch (parsed.kind) {
    case LineKind::command:
        return few[parsed.command].words;
    case LineKind::nothing:
        return "nothing";
    case LineKind::unknown:
        return "unknown";
    case LineKind::bad:
        return "bad";
    case LineKind::ambiguous:
        return "ambiguous";
    }
    return {};
}

std::vector<std::string> words_of(const std::string& line)
{
    CommandParser parser{few};
    std::vector<std::string> words;
    for (const Word& word : parser.parse(line).words)
        words.push_back(word.text);
    return words;
}

//! What the tabulator adds.
std::string completion_of(const std::string& line)
{
    CommandParser parser{few};
    std::array<char, 256> out{};
    int state = 0;
    parser.complete(line.c_str(), &state, out.data(), static_cast<unsigned>(out.size()));
    return out.data();
}

TEST(CommandParser, TellsCommandsThatBeginAlikeApart)
{
    EXPECT_EQ(read_as("start"), "start");
    EXPECT_EQ(read_as("start tx_first"), "start tx_first");
    EXPECT_EQ(read_as("start tx_first 3"), "start tx_first <count>");
    EXPECT_EQ(read_as("show port stats all"), "show port info|stats all");
    EXPECT_EQ(read_as("show port stats 7"), "show port info|stats <port>");
}

TEST(CommandParser, GivesEachWordAsItWasWritten)
{
    EXPECT_EQ(words_of("  show\tport stats   7 # of the last"),
              (std::vector<std::string>{"show", "port", "stats", "7"}));
    CommandParser parser{few};
    EXPECT_EQ(parser.parse("show port info 65535").words.at(3).number, 65535U);
    EXPECT_EQ(parser.parse("start tx_first 70000").words.at(2).number, 70000U);
}

TEST(CommandParser, TakesAListLongerThanAWord)
{
    std::string lengths = "64";
    for (int i = 0; i < 254; ++i)
        lengths += ",1500";
    EXPECT_EQ(words_of("set txpkts " + lengths).at(2), lengths);
}

TEST(CommandParser, LeavesItToTheCommandWhetherAModeIsOne)
{
    EXPECT_EQ(words_of("set fwd nonsense").at(2), "nonsense");
    EXPECT_EQ(read_as("set fwd"), "bad");
    EXPECT_EQ(read_as("set fwd io mac"), "bad");
}

TEST(CommandParser, TellsWhatIsNoCommandFromWhatIsAWrongOne)
{
    EXPECT_EQ(read_as(""), "nothing");
    EXPECT_EQ(read_as(" \t "), "nothing");
    EXPECT_EQ(read_as("  # start"), "nothing");
    EXPECT_EQ(read_as("begin"), "unknown");
    EXPECT_EQ(read_as("star"), "unknown");
    EXPECT_EQ(read_as("starts"), "unknown");
    EXPECT_EQ(read_as("start now"), "bad");
    EXPECT_EQ(read_as("start tx_first -1"), "bad");
    EXPECT_EQ(read_as("show port stats 65536"), "bad");
    EXPECT_EQ(read_as("set burst 65536"), "bad");
    EXPECT_EQ(read_as("show port stats " + std::string(300, '7')), "bad");
    EXPECT_EQ(read_as(std::string{"start\0stop", 10}), "unknown");
    EXPECT_EQ(read_as(std::string(10000, 'x')), "unknown");
}

TEST(CommandParser, CallsALineOfTwoCommandsAmbiguous)
{
    const std::vector<CommandPattern> twins = {{"go <port>", "one"}, {"go <count>", "another"}};
    CommandParser parser{twins};
    EXPECT_EQ(parser.parse("go 1").kind, LineKind::ambiguous);
    EXPECT_EQ(parser.parse("go 70000").kind, LineKind::command);
}

TEST(CommandParser, CompletesWordsAndModes)
{
    EXPECT_EQ(completion_of("sta"), "rt ");
    EXPECT_EQ(completion_of("show port s"), "tats ");
    EXPECT_EQ(completion_of("set fwd rxo"), "nly ");
    EXPECT_EQ(completion_of("set fwd ma"), "c"); // or macswap
    EXPECT_EQ(completion_of("begin"), "");
}

TEST(Commands, AreEachReadAsThemselves)
{
    CommandParser parser{command_patterns()};
    for (std::size_t i = 0; i < command_patterns().size(); ++i) {
        // Its first choice, with a number or a word where one is asked for.
        std::string line = command_patterns()[i].words;
        for (std::size_t bar = line.find('|'); bar != std::string::npos; bar = line.find('|'))
            line.erase(bar, std::min(line.find(' ', bar), line.size()) - bar);
        for (const auto& [kind, word] : {std::pair<std::string, std::string>{"<port>", "1"},
                                         {"<packets>", "1"},
                                         {"<count>", "1"},
                                         {"<mode>", "io"},
                                         {"<lengths>", "64"},
                                         {"<command>", "show"}})
            if (const std::size_t at = line.find(kind); at != std::string::npos)
                line.replace(at, kind.size(), word);
        const ParsedLine parsed = parser.parse(line);
        EXPECT_EQ(parsed.kind, LineKind::command) << line;
        EXPECT_EQ(parsed.command, i) << line;
    }
}

TEST(Commands, HelpHasALineForEach)
{
    const std::string help = command_help();
    EXPECT_EQ(static_cast<std::size_t>(std::ranges::count(help, '\n')), command_patterns().size());
    EXPECT_NE(command_help("port").find("port start|stop|close all"), std::string::npos);
    EXPECT_EQ(command_help("port").find("show port"), std::string::npos);
    EXPECT_NE(command_help("nonsense").find("No command begins with \"nonsense\""), std::string::npos);
}

} // namespace
} // namespace mrz::testpmd
