// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! A program that is talked with while it runs, by pipes or at a terminal, as a script or a person would.
#pragma once

#include "ordinary_signals.hpp"
#include "run_program.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <poll.h>
#include <pty.h>
#include <stdexcept>
#include <string>
#include <string_view>

#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>
#include <utility>
#include <utmp.h>
#include <vector>

namespace mrz::test {

//! No wait is for correctness: each ends with what it waits for. This only bounds a test that fails.
inline constexpr std::chrono::seconds patience{30};

//! Whether \p fd has something to read, or has ended, by \p deadline.
inline bool readable_by(int fd, std::chrono::steady_clock::time_point deadline)
{
    for (;;) {
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
        pollfd one{.fd = fd, .events = POLLIN, .revents = 0};
        const int ready = ::poll(&one, 1, static_cast<int>(std::max<std::int64_t>(left.count(), 0)));
        if (ready > 0)
            return true;
        if (ready == 0 || errno != EINTR)
            return false;
    }
}

//! Standard output and error come as one text. The program gets SIGTERM if the test dies.
class Dialogue {
  public:
    enum class Over {
        pipes,
        terminal,
    };

    //! \p before runs in the child just before the program.
    explicit Dialogue(
        std::vector<std::string> arguments, Over over = Over::pipes, const std::function<void()>& before = [] {})
    {
        std::vector<char*> argv;
        for (std::string& argument : arguments)
            argv.push_back(argument.data());
        argv.push_back(nullptr);
        int in[2] = {-1, -1};
        int out[2] = {-1, -1};
        if (over == Over::terminal) {
            const winsize size{.ws_row = 50, .ws_col = 200, .ws_xpixel = 0, .ws_ypixel = 0};
            if (::openpty(&out[0], &out[1], nullptr, nullptr, &size) != 0)
                throw std::runtime_error{"openpty"};
            // Stays open here, so that the settings that the program leaves can be seen after it ended.
            in[0] = ::dup(out[1]);
            in[1] = ::dup(out[0]);
            ::tcgetattr(out[1], &settings_);
        } else if (::pipe2(in, O_CLOEXEC) != 0 || ::pipe2(out, O_CLOEXEC) != 0) {
            throw std::runtime_error{"pipe"};
        }
        std::signal(SIGPIPE, SIG_IGN); // whoever is spoken to may have ended
        std::fflush(nullptr);
        pid_ = ::fork();
        if (pid_ == 0) {
            ::prctl(PR_SET_PDEATHSIG, SIGTERM);
            take_ordinary_signals();
            if (over == Over::terminal)
                ::login_tty(::dup(out[1]));
            ::dup2(in[0], 0);
            ::dup2(out[1], 1);
            ::dup2(out[1], 2);
            for (const int fd : {in[0], in[1], out[0], out[1]})
                if (fd > 2)
                    ::close(fd);
            before();
            ::execv(argv[0], argv.data());
            ::_exit(127);
        }
        if (pid_ < 0)
            throw std::runtime_error{"cannot start " + arguments.front()};
        // The header of glibc 2.36 cannot be linked with from C++.
        ended_ = static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0));
        ::close(in[0]);
        if (over == Over::terminal)
            slave_ = out[1];
        else
            ::close(out[1]);
        in_ = in[1];
        out_ = out[0];
    }
    Dialogue(const Dialogue&) = delete;
    Dialogue& operator=(const Dialogue&) = delete;
    ~Dialogue()
    {
        end();
        for (const int fd : {in_, out_, slave_, ended_})
            if (fd >= 0)
                ::close(fd);
    }

    [[nodiscard]] pid_t pid() const noexcept { return pid_; }
    //! All that was heard so far.
    [[nodiscard]] const std::string& text() const noexcept { return text_; }

    //! Types it as it is.
    void type(std::string_view keys)
    {
        while (!keys.empty()) {
            const ssize_t written = ::write(in_, keys.data(), keys.size());
            if (written < 0 && errno == EINTR)
                continue;
            if (written < 0)
                return; // it ended; what it said before tells why
            keys.remove_prefix(static_cast<std::size_t>(written));
        }
    }
    void say(std::string_view line) { type(std::string{line} + "\n"); }
    void close_input() { ::close(std::exchange(in_, -1)); }

    //! Waits until it has said \p wanted since what was last heard. \return false if it ended, or time ran out.
    bool hear(std::string_view wanted, std::chrono::milliseconds bound = patience)
    {
        const auto deadline = std::chrono::steady_clock::now() + bound;
        for (;;) {
            const std::size_t found = text_.find(wanted, heard_);
            if (found != std::string::npos) {
                before_ = std::exchange(heard_, found + wanted.size());
                return true;
            }
            if (!read_more(deadline))
                return false;
        }
    }

    //! What hear() last went through, to the end of what was wanted.
    [[nodiscard]] std::string last_heard() const { return text_.substr(before_, heard_ - before_); }

    //! Waits for its end, and gives all that it said. One that does not end is killed: its status is 128 + SIGKILL.
    ProgramResult wait(std::chrono::milliseconds bound = patience)
    {
        const auto deadline = std::chrono::steady_clock::now() + bound;
        while (read_more(deadline)) {
        }
        if (!readable_by(ended_, deadline)) {
            text_ += "\n(the test: it did not end, and was killed)\n";
            ::kill(pid_, SIGKILL);
        }
        const int status = reap();
        return {.status = status, .out = text_, .err = {}};
    }

    //! Whether the terminal is set as it was before the program began. Only Over::terminal.
    [[nodiscard]] bool terminal_as_before() const
    {
        termios now{};
        ::tcgetattr(slave_, &now);
        return now.c_iflag == settings_.c_iflag && now.c_oflag == settings_.c_oflag &&
               now.c_lflag == settings_.c_lflag && now.c_cflag == settings_.c_cflag &&
               std::equal(std::begin(now.c_cc), std::end(now.c_cc), std::begin(settings_.c_cc));
    }

  private:
    //! \return false if nothing more will come, or time ran out.
    bool read_more(std::chrono::steady_clock::time_point deadline)
    {
        for (;;) {
            pollfd fds[] = {{out_, POLLIN, 0}, {ended_, POLLIN, 0}};
            const auto left =
                std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now()).count();
            const int ready = ::poll(fds, 2, static_cast<int>(std::max<std::int64_t>(left, 0)));
            if (ready < 0 && errno == EINTR)
                continue;
            // Its end does not matter as long as there is something to be read. A terminal has no end.
            if (ready <= 0 || fds[0].revents == 0)
                return false;
            char buffer[4096];
            const ssize_t got = ::read(out_, buffer, sizeof buffer);
            if (got < 0 && errno == EINTR)
                continue;
            if (got > 0)
                text_.append(buffer, static_cast<std::size_t>(got));
            return got > 0;
        }
    }
    int reap()
    {
        if (pid_ <= 0)
            return status_;
        int status = 0;
        while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
        }
        pid_ = -1;
        status_ = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
        return status_;
    }
    //! For a test that failed half-way: the program gets the chance to tidy up.
    void end()
    {
        if (pid_ <= 0)
            return;
        ::kill(pid_, SIGTERM);
        wait();
    }

    pid_t pid_ = -1;
    int ended_ = -1;
    int in_ = -1;
    int out_ = -1;
    int slave_ = -1;
    int status_ = 0;
    termios settings_{};
    std::string text_;
    std::size_t before_ = 0; //!< Where the last hear() began, and where it ended.
    std::size_t heard_ = 0;
};

} // namespace mrz::test
