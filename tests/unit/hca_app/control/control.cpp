// SPDX-License-Identifier: BSD-3-Clause
#include "control/client.hpp"
#include "control/server.hpp"

#include "support/refusal.hpp"
#include "unit/hca_app/scratch_folder.hpp"

#include <gmock/gmock.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include <sys/socket.h>
#include <unistd.h>

namespace mrz::control {
namespace {

using test::refusal;

class ControlSocket : public testing::Test {
  protected:
    ControlSocket()
    {
        commands.add(Verb::get, "sum", "a and b", [](const Json& request) {
            return Json{{"sum", number_of(request, "a") + number_of(request, "b", 1, 100)}};
        });
        commands.add(Verb::set, "trouble", "fails", [](const Json&) -> Json {
            throw Error{EBUSY, {.trouble = Trouble::busy, .what = "making trouble", .limit = "busy", .remedy = ""}};
        });
        commands.add(Verb::get, "text", "bytes that are no text", [](const Json&) { return Json("\xff\xfe"); });
        commands.add(Verb::get, "much", "more than a socket holds",
                     [](const Json&) { return Json(std::string(std::size_t{3} << 20, 'x')); });
    }
    Json ask(const std::vector<std::string>& words) { return control::ask(path, request_of(words)); }
    static void say(const FileDescriptor& socket, const std::string& text)
    {
        ASSERT_EQ(::send(socket.get(), text.data(), text.size(), MSG_NOSIGNAL), static_cast<ssize_t>(text.size()));
    }
    //! Until it is hung up on.
    static std::string all_of(const FileDescriptor& socket)
    {
        std::string all;
        std::array<char, 4096> piece{};
        ssize_t length = 0;
        while ((length = ::recv(socket.get(), piece.data(), piece.size(), 0)) > 0)
            all.append(piece.data(), static_cast<std::size_t>(length));
        return all;
    }
    int refused(const std::vector<std::string>& words)
    {
        return refusal([&] { (void)ask(words); }).error_number();
    }

    test::ScratchFolder folder;
    std::string path = folder / "control";
    Commands commands;
    Server server{path, commands};
};

TEST_F(ControlSocket, AnswersWhatItIsAsked)
{
    EXPECT_EQ(ask({"get", "sum", "a=0x10", "b=2"}), (Json{{"sum", 18}}));
    EXPECT_EQ(ask({"get", "sum", "a=5"}), (Json{{"sum", 6}}));
    EXPECT_EQ(ask({"get", "commands"})["set trouble"], "fails");
    EXPECT_EQ(ask({"get", "much"}).get<std::string>().size(), std::size_t{3} << 20);
    EXPECT_TRUE(ask({"get", "text"}).is_string());
}

TEST_F(ControlSocket, SaysWhatIsWrong)
{
    EXPECT_EQ(refused({"set", "trouble"}), EBUSY);
    EXPECT_EQ(refused({"get", "nothing"}), EINVAL);
    EXPECT_EQ(refused({"get", "trouble"}), EINVAL);
    EXPECT_EQ(refused({"get", "sum"}), EINVAL);
    EXPECT_EQ(refused({"get", "sum", "a=-1"}), EINVAL);
    EXPECT_EQ(refused({"get", "sum", "a=1", "b=101"}), EINVAL);
    EXPECT_EQ(refused({"get", "sum", "a=x"}), EINVAL);
    EXPECT_EQ(refused({"get"}), EINVAL);
    EXPECT_EQ(refused({"put", "sum"}), EINVAL);
    EXPECT_EQ(refused({"get", "sum", "a"}), EINVAL);
    EXPECT_EQ(refused({"get", "sum", "a=1", "a=2"}), EINVAL);
}

TEST_F(ControlSocket, AnswersEachLineWhateverItIs)
{
    const FileDescriptor socket = sockets::connect(path);
    const std::string lines = "no json\n\n[]\n{\"get\": 7}\n{}\n{\"get\": \"sum\", \"a\": 1}\n";
    ASSERT_EQ(::send(socket.get(), lines.data(), lines.size(), 0), static_cast<ssize_t>(lines.size()));
    std::string all;
    char byte = 0;
    for (int left = 6; left > 0 && ::recv(socket.get(), &byte, 1, 0) == 1; left -= byte == '\n' ? 1 : 0)
        all += byte;
    EXPECT_THAT(all, testing::HasSubstr("not a JSON object"));
    EXPECT_THAT(all, testing::EndsWith("{\"answer\":{\"sum\":2}}\n"));
}

TEST_F(ControlSocket, EndsWhoNeverEndsALine)
{
    const FileDescriptor socket = sockets::connect(path);
    const std::string text(4096, 'x');
    ssize_t sent = 0;
    for (int i = 0; i < 1000 && sent >= 0; ++i)
        sent = ::send(socket.get(), text.data(), text.size(), MSG_NOSIGNAL);
    EXPECT_LT(sent, 0);
    const std::string answer = all_of(socket);
    EXPECT_THAT(answer, testing::HasSubstr("a line has at most 65536 bytes")) << "and is told why";
    EXPECT_THAT(answer, testing::EndsWith("}\n"));
    EXPECT_EQ(ask({"get", "sum", "a=5"}), (Json{{"sum", 6}}));
}

TEST_F(ControlSocket, TakesTheLongestLineAndNoLongerOne)
{
    for (const std::size_t more : {0U, 1U}) {
        const FileDescriptor socket = sockets::connect(path);
        std::string line = "{\"get\": \"sum\", \"a\": 1}";
        line += std::string(ClientBuffer::longest_line + more - line.size(), ' ') + '\n';
        say(socket, line);
        ::shutdown(socket.get(), SHUT_WR);
        EXPECT_EQ(all_of(socket) == "{\"answer\":{\"sum\":2}}\n", more == 0);
    }
}

TEST_F(ControlSocket, AnswersWhatIsDeepOrIsNoText)
{
    std::string deep;
    while (deep.size() < 60'000)
        deep += "{\"get\":[";
    std::string every(255, '\0');
    for (std::size_t i = 0; i < every.size(); ++i)
        every[i] = static_cast<char>(i < '\n' ? i : i + 1);
    std::string closed = std::string(30'000, '[') + std::string(30'000, ']');
    std::string many = "{\"get\": \"sum\"";
    for (int i = 0; many.size() < 60'000; ++i)
        many += ",\"" + std::to_string(i) + "\":0";
    for (const std::string& line : {deep, std::string(60'000, '['), closed, "{\"get\":" + closed + "}",
                                    "{\"get\":\"sum\",\"a\":" + closed + "}", every, std::string(100, '\0'),
                                    "{\"get\":\"" + std::string(60'000, '\xff') + "\"}", many + "}",
                                    std::string{"{\"get\":\"sum\",\"a\":1e999}"}}) {
        const FileDescriptor socket = sockets::connect(path);
        say(socket, line + '\n');
        ::shutdown(socket.get(), SHUT_WR);
        EXPECT_THAT(all_of(socket), testing::StartsWith("{\"error\":")) << line.substr(0, 20);
    }
    EXPECT_EQ(ask({"get", "sum", "a=5"}), (Json{{"sum", 6}}));
}

TEST_F(ControlSocket, NobodyStandsInTheWayOfOthers)
{
    std::vector<FileDescriptor> others;
    for (const char* const words : {"", "{\"get\"", "{\"get\": \"much\"}\n", "{\"get\": \"sum\", \"a\": 1}\n"}) {
        for (int i = 0; i < 3; ++i) {
            others.push_back(sockets::connect(path));
            say(others.back(), words);
        }
    }
    const auto before = std::chrono::steady_clock::now();
    EXPECT_EQ(ask({"get", "sum", "a=5"}), (Json{{"sum", 6}}));
    EXPECT_LT(std::chrono::steady_clock::now() - before, std::chrono::seconds{4})
        << "less than anybody is waited for";
}

TEST_F(ControlSocket, ServesMoreThanItHasRoomForOneAfterTheOther)
{
    std::vector<FileDescriptor> others;
    for (std::size_t i = 0; i < Server::most_clients; ++i)
        others.push_back(sockets::connect(path));
    std::vector<std::thread> askers;
    for (int i = 0; i < 8; ++i) {
        askers.emplace_back([this] { EXPECT_EQ(ask({"get", "sum", "a=5"}), (Json{{"sum", 6}})); });
    }
    others.clear();
    for (std::thread& asker : askers)
        asker.join();
}

TEST_F(ControlSocket, EndsWhileClientsAreThere)
{
    const std::string elsewhere = folder / "other";
    std::vector<FileDescriptor> clients;
    {
        const Server other{elsewhere, commands};
        for (int i = 0; i < 20; ++i)
            clients.push_back(sockets::connect(elsewhere));
        say(clients[0], "{\"get\": \"much\"}\n");
    }
    EXPECT_EQ(::access(elsewhere.c_str(), F_OK), -1);
}

TEST(ControlCommands, HaveOneNameEach)
{
    Commands commands;
    commands.add(Verb::set, "commands", "", {}); // not "get commands"
    EXPECT_THROW(commands.add(Verb::get, "commands", "", {}), std::logic_error);
}

} // namespace
} // namespace mrz::control
