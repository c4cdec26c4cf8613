// SPDX-License-Identifier: BSD-3-Clause
#include "control/client.hpp"
#include "control/server.hpp"

#include "support/refusal.hpp"
#include "unit/hca_app/scratch_folder.hpp"

#include <gmock/gmock.h>

#include <array>
#include <cerrno>
#include <vector>

#include <sys/socket.h>

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
    std::array<char, 200> said{};
    ASSERT_GT(::recv(socket.get(), said.data(), said.size() - 1, 0), 0);
    EXPECT_THAT(said.data(), testing::HasSubstr("a line has at most 65536 bytes"));
    EXPECT_EQ(ask({"get", "sum", "a=5"}), (Json{{"sum", 6}}));
}

TEST(ControlCommands, HaveOneNameEach)
{
    Commands commands;
    commands.add(Verb::set, "commands", "", {}); // not "get commands"
    EXPECT_THROW(commands.add(Verb::get, "commands", "", {}), std::logic_error);
}

} // namespace
} // namespace mrz::control
