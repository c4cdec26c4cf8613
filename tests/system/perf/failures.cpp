// SPDX-License-Identifier: BSD-3-Clause
#include "ends.hpp"

#include "channel.hpp"
#include "hello.hpp"

#include <mrzone/region.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

namespace mrz::test {
namespace {

using namespace std::chrono_literals;
using perf::Channel;
using perf::Hello;
using perf::Json;
using testing::HasSubstr;

//! More than can be done before a test ends it.
const std::vector<std::string> endless{"-D", "600", "--memory", "4M"};

std::vector<std::string> with(std::vector<std::string> words, const std::vector<std::string>& more)
{
    words.insert(words.end(), more.begin(), more.end());
    return words;
}

//! A client whose operations are under way.
class BusyClient {
  public:
    BusyClient(PerfServer& server, const std::vector<std::string>& options)
        : program{client_command(server, with(endless, options))}
    {
        EXPECT_TRUE(server.program().hear("queue pairs")) << server.program().text();
        EXPECT_TRUE(program.hear("MsgRate")) << program.text();
        EXPECT_TRUE(wait_until_busy(program.pid()));
    }

    Dialogue program;
};

//! What a server must still be able to do.
void expect_served(const PerfServer& server)
{
    const ProgramResult result = run_client(server, {"-n", "50", "-s", "4K", "--memory", "1M", "--verify"});
    EXPECT_EQ(result.status, 0) << result.out;
}

class PerfUnderLoad : public testing::TestWithParam<std::string> {};

TEST_P(PerfUnderLoad, AServerThatIsKilledIsAnErrorOfItsClient)
{
    PerfServer server;
    BusyClient client{server, {"--op", GetParam()}};
    ::kill(server.program().pid(), SIGKILL);
    const ProgramResult result = client.program.wait();
    EXPECT_EQ(result.status, peer_status) << result.out;
}

TEST_P(PerfUnderLoad, AClientThatIsKilledLeavesAServerThatServesOthersAndKeepsNothingPinned)
{
    PerfServer server;
    expect_served(server); // so that what is made at first use is there
    ASSERT_TRUE(server.program().hear("done"));
    const std::uint64_t before = kept_in_place(server.program().pid());
    {
        BusyClient client{server, {"--op", GetParam()}};
        ::kill(client.program.pid(), SIGKILL);
        EXPECT_EQ(client.program.wait().status, 128 + SIGKILL);
    }
    expect_served(server);
    ASSERT_TRUE(server.program().hear("done"));
    EXPECT_LE(kept_in_place(server.program().pid()), before);
}

TEST_P(PerfUnderLoad, AServerThatIsInterruptedTellsItsClientWhy)
{
    PerfServer server;
    BusyClient client{server, {"--op", GetParam()}};
    ::kill(server.program().pid(), SIGINT);
    const ProgramResult result = client.program.wait();
    EXPECT_EQ(result.status, peer_status) << result.out;
    EXPECT_THAT(result.out, HasSubstr("interrupted"));
    EXPECT_EQ(server.program().wait().status, 0);
}

TEST_P(PerfUnderLoad, AClientThatIsInterruptedPrintsWhatThereIs)
{
    PerfServer server;
    BusyClient client{server, {"--op", GetParam()}};
    ::kill(client.program.pid(), SIGINT);
    const ProgramResult result = client.program.wait();
    EXPECT_EQ(result.status, 128 + SIGINT) << result.out;
    EXPECT_THAT(result.out, HasSubstr("results so far"));
    expect_served(server);
}

INSTANTIATE_TEST_SUITE_P(All, PerfUnderLoad, testing::Values("write", "read", "send", "atomic"),
                         [](const auto& of) { return of.param; });

TEST(Perf, InterruptedPrintsJsonThatSaysSo)
{
    PerfServer server;
    Dialogue client{client_command(server, with(endless, {"-b", "--json"}))};
    ASSERT_TRUE(server.program().hear("queue pairs"));
    ::kill(client.pid(), SIGINT);
    const ProgramResult result = client.wait();
    EXPECT_EQ(result.status, 128 + SIGINT) << result.out;
    const auto json = printed_object(result.out);
    EXPECT_TRUE(json.contains("error") || json["interrupted"] == true) << result.out; // before there was anything
}

TEST(Perf, OfAServerThatHangsEndsInTime)
{
    PerfServer server;
    BusyClient client{server, {"--timeout", "5"}};
    ::kill(server.program().pid(), SIGSTOP);
    const ProgramResult result = client.program.wait();
    ::kill(server.program().pid(), SIGCONT);
    EXPECT_EQ(result.status, peer_status) << result.out;
}

TEST(Perf, OfAClientThatHangsEndsInTime)
{
    PerfServer server{{"--timeout", "5"}};
    BusyClient client{server, {}};
    ::kill(client.program.pid(), SIGSTOP);
    EXPECT_TRUE(server.program().hear("silent")) << server.program().text();
    expect_served(server);
    ::kill(client.program.pid(), SIGCONT);
    EXPECT_EQ(client.program.wait().status, peer_status);
}

TEST(Perf, WithoutAServerSaysSo)
{
    std::string port;
    {
        PerfServer server;
        port = server.port();
    }
    const ProgramResult result =
        Dialogue{{perf_program(), "client", perf_host(), "-p", port, "-d", perf_device()}}.wait();
    EXPECT_EQ(result.status, peer_status) << result.out;
}

TEST(Perf, ServesClientsOneAfterTheOther)
{
    PerfServer server;
    std::vector<std::string> words{"-D", "0.3", "-s", "4K", "--memory", "1M"};
    Dialogue first{client_command(server, words)};
    Dialogue second{client_command(server, words)};
    Dialogue third{client_command(server, words)};
    for (Dialogue* const one : {&first, &second, &third}) {
        const ProgramResult result = one->wait();
        EXPECT_EQ(result.status, 0) << result.out;
    }
}

TEST(Perf, ServesOnceWhereToldTo)
{
    PerfServer server{{"--once"}};
    expect_served(server);
    EXPECT_EQ(server.program().wait().status, 0);
    PerfServer failing{{"--once", "--memory", "1M"}};
    EXPECT_EQ(run_client(failing, {"--memory", "2M"}).status, peer_status);
    EXPECT_NE(failing.program().wait().status, 0);
}

TEST(Perf, ThatAsksForMoreMemoryThanAServerHasIsTold)
{
    PerfServer server{{"--memory", "1M"}};
    const ProgramResult result = run_client(server, {"--memory", "2M"});
    EXPECT_EQ(result.status, peer_status) << result.out;
    EXPECT_THAT(result.out, HasSubstr("--memory"));
    expect_served(server);
}

// What follows speaks to a server as no client of ours would.
class PerfStranger : public testing::Test {
  protected:
    std::unique_ptr<Connection> connect(std::span<const std::byte> words, const QueuePairOptions& options = {},
                                        const std::function<void(QueuePair&)>& before = {})
    {
        return domain.connect(server.address(), {.queue_pair = options, .private_data = words, .timeout = 10s},
                              before);
    }
    Channel channel()
    {
        return Channel{domain,
                       [this](const QueuePairOptions& options, const std::function<void(QueuePair&)>& before) {
                           return connect(Hello{.role = Hello::Role::control}.pack(), options, before);
                       },
                       {.connect = 10s, .silence = 20s}};
    }
    //! What the server answers to a message.
    std::string answer(std::string_view kind, const Json& message)
    {
        Channel to = channel();
        to.send(kind, message);
        try {
            return to.wait_any().dump();
        } catch (const Error& error) {
            EXPECT_EQ(error.cause().trouble, Trouble::peer);
            return error.what();
        }
    }

    PerfServer server{{"--timeout", "5"}};
    Domain domain = Domain::open(perf_device());
};

TEST_F(PerfStranger, OfAnotherVersionIsRefused)
{
    auto words = Hello{.role = Hello::Role::control}.pack();
    words[4] = std::byte{perf::protocol + 1};
    try {
        static_cast<void>(connect(words));
        FAIL() << "not refused";
    } catch (const Error& error) {
        EXPECT_EQ(error.cause().trouble, Trouble::peer);
        EXPECT_EQ(error.error_number(), ECONNREFUSED) << error.what();
        EXPECT_THAT(error.what(), HasSubstr("protocol"));
    }
    expect_served(server);
}

TEST_F(PerfStranger, ThatSaysNothingOfUseIsRefused)
{
    EXPECT_THROW(static_cast<void>(connect({})), Error);
    const std::array<std::byte, most_private_data> noise{std::byte{7}};
    EXPECT_THROW(static_cast<void>(connect(noise)), Error);
    const auto words = Hello{.role = Hello::Role::data, .stream = 0, .session = 1}.pack();
    EXPECT_THROW(static_cast<void>(connect(words)), Error);
    expect_served(server);
}

TEST_F(PerfStranger, ThatSendsNonsenseIsToldAndLeft)
{
    EXPECT_THAT(answer("settings", {{"settings", "all of them"}}), HasSubstr("lacks"));
    EXPECT_THAT(answer("walk", Json::object()), HasSubstr("was to come"));
    Json deep = Json::array();
    for (int i = 0; i < 2000; ++i)
        deep = Json::array({deep});
    EXPECT_THAT(answer("settings", {{"settings", deep}}), HasSubstr("lacks"));
    expect_served(server);
}

TEST_F(PerfStranger, ThatSendsNoJsonOrTooMuchIsLeft)
{
    for (const std::size_t length : {std::size_t{100}, Channel::most_bytes, Channel::most_bytes + 1}) {
        std::vector<std::byte> noise(length, std::byte{'['});
        const Region region = domain.register_memory(noise);
        const auto connection = connect(Hello{.role = Hello::Role::control}.pack());
        const Segment segment{region.iova(), static_cast<std::uint32_t>(length), region.lkey()};
        connection->queue_pair().post_send({.id = 1, .segments = {&segment, 1}});
        for (const auto deadline = std::chrono::steady_clock::now() + patience; connection->connected();)
            ASSERT_LT(std::chrono::steady_clock::now(), deadline) << length;
        expect_served(server);
    }
}

TEST_F(PerfStranger, ThatSaysNothingAtAllIsLeftInTime)
{
    const auto connection = connect(Hello{.role = Hello::Role::control}.pack());
    EXPECT_TRUE(server.program().hear("silent")) << server.program().text();
    expect_served(server);
}

} // namespace
} // namespace mrz::test
