// SPDX-License-Identifier: BSD-3-Clause
// Who comes to a link's path, or listens there, and is no device, or none of this version.
#include "fabric/cable.hpp"

#include "support/descriptor_message.hpp"
#include "unit/hca_app/scratch_folder.hpp"

#include <gmock/gmock.h>

#include <array>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <poll.h>
#include <sys/socket.h>

namespace mrz::fabric {
namespace {

using testing::HasSubstr;

constexpr PortAddress own{17, 0x0215'b3ff'fe00'0001};
constexpr PortAddress other{18, 0x0215'b3ff'fe00'0002};
constexpr int type = SOCK_SEQPACKET;
constexpr std::chrono::seconds longest{30}; // more than anything takes

class Strangers : public testing::Test {
  protected:
    Strangers()
    {
        set_log_sink([this](Severity, std::string_view line) {
            const std::lock_guard lock{mutex_};
            said_ += std::string{line} + '\n';
            changed_.notify_all();
        });
    }
    ~Strangers() override
    {
        cable_.reset();
        set_log_sink({});
    }
    void start()
    {
        cable_.emplace(path, own, [this](const Cable::Joined& with) {
            const std::lock_guard lock{mutex_};
            joined_ = with.peer;
            changed_.notify_all();
        });
    }
    [[nodiscard]] bool wait_until(const std::function<bool()>& is_so)
    {
        std::unique_lock lock{mutex_};
        return changed_.wait_for(lock, longest, is_so);
    }
    [[nodiscard]] bool says(const std::string& words)
    {
        return wait_until([&] { return said_.find(words) != std::string::npos; });
    }
    [[nodiscard]] std::string said()
    {
        const std::lock_guard lock{mutex_};
        return said_;
    }
    [[nodiscard]] bool joins(const PortAddress& peer)
    {
        return wait_until([&] { return joined_ == peer; });
    }
    //! Until it listens.
    [[nodiscard]] FileDescriptor come() const
    {
        while (true) {
            try {
                return sockets::connect(path, type);
            } catch (const Error&) {
                ::poll(nullptr, 0, 1);
            }
        }
    }
    static Received answer(int socket)
    {
        pollfd wanted{socket, POLLIN, 0};
        EXPECT_EQ(::poll(&wanted, 1, 30'000), 1);
        return receive(socket);
    }
    static void say(int socket, const Greeting& greeting, std::span<const int> descriptors = {})
    {
        EXPECT_TRUE(test::send_with_descriptors(socket, std::as_bytes(std::span{&greeting, 1}), descriptors));
    }
    //! As a device does.
    void expect_joins_who_comes()
    {
        const FileDescriptor socket = come();
        const hca::WireMemory memory = hca::WireMemory::make();
        ASSERT_TRUE(send(socket.get(), make_greeting(Greeting::ask, other), memory.descriptor()));
        EXPECT_EQ(answer(socket.get()).greeting.kind, Greeting::accept);
        EXPECT_TRUE(joins(other));
    }

    test::ScratchFolder folder;
    const std::string path = folder / "link";
    std::mutex mutex_;
    std::condition_variable changed_;
    std::string said_;
    std::optional<PortAddress> joined_;
    std::optional<Cable> cable_;
};

TEST_F(Strangers, WhoSaysNothingHoldsUpTheNextForASecondOnly)
{
    start();
    const FileDescriptor silent = come();
    const auto before = std::chrono::steady_clock::now();
    expect_joins_who_comes();
    EXPECT_LT(std::chrono::steady_clock::now() - before, std::chrono::seconds{4});
    EXPECT_EQ(answer(silent.get()).result, Received::Result::gone);
}

TEST_F(Strangers, WhoSaysNothingWhileTwoAreLinkedDoesNotHideTheEndOfTheLink)
{
    start();
    expect_joins_who_comes();
    {
        const std::lock_guard lock{mutex_};
        joined_.reset();
    }
    const FileDescriptor silent = come();
    cable_->lost();
    expect_joins_who_comes();
}

TEST_F(Strangers, WhoSaysAnythingElseIsToldSoAndLeavesNothing)
{
    start();
    static_cast<void>(answer(come().get())); // at once: it listens by now, and has heard somebody
    const hca::WireMemory memory = hca::WireMemory::make();
    const std::size_t before = test::open_descriptors();
    for (const std::size_t bytes : {0U, 1U, 127U, 129U, 5000U}) {
        for (const std::size_t descriptors : {0U, 1U, 2U, 200U}) {
            const FileDescriptor socket = come();
            ASSERT_TRUE(test::send_with_descriptors(socket.get(), std::vector<std::byte>(bytes, std::byte{'x'}),
                                                    std::vector<int>(descriptors, memory.descriptor())));
            const Received told = answer(socket.get());
            if (bytes == 0)
                EXPECT_EQ(told.result, Received::Result::gone) << "as who has ended";
            else
                EXPECT_EQ(told.greeting.why(), "this is mrz-hca of another version");
        }
    }
    for (const std::size_t descriptors : {0U, 2U, 3U, 200U}) {
        const FileDescriptor socket = come();
        say(socket.get(), make_greeting(Greeting::ask, other), std::vector<int>(descriptors, memory.descriptor()));
        EXPECT_EQ(answer(socket.get()).greeting.kind, Greeting::refuse) << descriptors << " descriptors";
        EXPECT_EQ(answer(socket.get()).result, Received::Result::gone);
    }
    expect_joins_who_comes();
    EXPECT_EQ(test::open_descriptors(), before);
    EXPECT_THAT(said(), HasSubstr("does not speak as this version of mrz-hca does"));
    EXPECT_THAT(said(), HasSubstr("no descriptor of them came along"));
}

TEST_F(Strangers, WhoListensAndAnswersAnythingElseIsSaidAndTriedAgain)
{
    const std::size_t before = test::open_descriptors();
    {
        const sockets::Listener listener{path, type};
        const sockets::Stop never;
        start();
        using Answer = std::function<void(int)>;
        Greeting unlike = make_greeting(Greeting::accept, other);
        ++unlike.version;
        Greeting long_winded = make_greeting(Greeting::refuse, other, "\xff\n\x1b[2J");
        long_winded.length = 60'000;
        // None says what the one before it said: that is said once.
        const std::string hangs_up = "who listens there hangs up without a word";
        const std::string other_language = "does not speak as this version";
        const std::vector<std::pair<Answer, std::string>> answers{
            {[](int) {}, hangs_up},
            {[](int socket) { test::send_with_descriptors(socket, std::array<std::byte, 3>{}, {}); }, other_language},
            {[&](int socket) { say(socket, long_winded); }, "the other end refuses: ??"},
            {[&](int socket) { say(socket, unlike); }, other_language},
            {[](int socket) { say(socket, make_greeting(Greeting::ask, other)); }, "the other end refuses: "},
            {[](int socket) {
                 say(socket, make_greeting(Greeting::accept, other), std::array{socket, socket, socket});
             },
             other_language},
            {[](int socket) {
                 say(socket, make_greeting(Greeting::accept, {own.lid, 5}));
             },
             "both devices have the LID"},
            {[](int socket) {
                 say(socket, make_greeting(Greeting::accept, {5, own.guid}));
             },
             "both devices have the GUID"},
        };
        for (const auto& [give, words] : answers) {
            const auto socket = listener.accept(never);
            ASSERT_TRUE(socket);
            EXPECT_EQ(answer(socket->get()).greeting.kind, Greeting::ask);
            {
                const std::lock_guard lock{mutex_};
                said_.clear();
            }
            give(socket->get());
            ::shutdown(socket->get(), SHUT_WR);
            ASSERT_TRUE(says(words)) << words << " in " << said();
        }
        const auto socket = listener.accept(never);
        EXPECT_EQ(answer(socket->get()).greeting.kind, Greeting::ask);
        say(socket->get(), make_greeting(Greeting::accept, other));
        EXPECT_TRUE(joins(other));
        cable_.reset();
    }
    EXPECT_EQ(test::open_descriptors(), before);
}

TEST_F(Strangers, WhatIsAtThePathIsSaidAndThePathUsedOnceItIsFree)
{
    std::ofstream{path} << "text";
    start();
    EXPECT_TRUE(says("something that is no socket is there"));
    std::filesystem::remove(path);
    expect_joins_who_comes();
}

TEST_F(Strangers, APathThatSomebodyRemovedIsMadeAnew)
{
    start();
    static_cast<void>(answer(come().get()));
    std::filesystem::remove(path);
    expect_joins_who_comes();
}

TEST_F(Strangers, WhoListensThereForSomethingElseIsLeftAlone)
{
    {
        const sockets::Listener stream{path};
        start();
        EXPECT_TRUE(says("give another path"));
    }
    expect_joins_who_comes();
}

TEST_F(Strangers, AFolderThatIsNotThereIsSaidAndUsedOnceItIs)
{
    const std::string inner = folder / "no";
    cable_.emplace(inner + "/link", own, [](const Cable::Joined&) {});
    EXPECT_TRUE(says("No such file or directory"));
    std::filesystem::create_directory(inner);
    while (!std::filesystem::exists(inner + "/link"))
        ::poll(nullptr, 0, 1);
}

} // namespace
} // namespace mrz::fabric
