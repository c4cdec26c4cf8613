// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Runs a program as a person would, and keeps what it says.
#pragma once

#include "ordinary_signals.hpp"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <functional>
#include <grp.h>
#include <poll.h>
#include <stdexcept>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace mrz::test {

struct ProgramResult {
    int status = 0; //!< As a shell has it: 128 + signal for a program that a signal ended.
    std::string out;
    std::string err;
};

//! A program that runs. Its output is kept in pipes until wait(), which must be called.
class RunningProgram {
  public:
    //! \p before runs in the child just before the program.
    explicit RunningProgram(
        std::vector<std::string> arguments, const std::string& input = {},
        const std::function<void()>& before = [] {})
    {
        int in[2];
        if (::pipe(in) != 0 || ::pipe(out_) != 0 || ::pipe(err_) != 0)
            throw std::runtime_error{"pipe"};
        std::vector<char*> argv;
        for (std::string& argument : arguments)
            argv.push_back(argument.data());
        argv.push_back(nullptr);
        std::fflush(nullptr);
        pid_ = ::fork();
        if (pid_ == 0) {
            take_ordinary_signals();
            ::dup2(in[0], 0);
            ::dup2(out_[1], 1);
            ::dup2(err_[1], 2);
            for (const int fd : {in[0], in[1], out_[0], out_[1], err_[0], err_[1]})
                ::close(fd);
            before();
            ::execv(argv[0], argv.data());
            ::_exit(127);
        }
        for (const int fd : {in[0], out_[1], err_[1]})
            ::close(fd);
        // Short enough for a pipe, so that nobody waits for anybody.
        if (pid_ < 0 || ::write(in[1], input.data(), input.size()) != static_cast<ssize_t>(input.size()))
            throw std::runtime_error{"cannot start " + arguments.front()};
        ::close(in[1]);
    }
    RunningProgram(const RunningProgram&) = delete;
    RunningProgram& operator=(const RunningProgram&) = delete;

    [[nodiscard]] pid_t pid() const noexcept { return pid_; }

    //! Reads standard error until it holds \p text, which wait() gives back too. \return false if it ends before.
    bool wait_for_error(const std::string& text)
    {
        while (err_text_.find(text) == std::string::npos) {
            char buffer[4096];
            const ssize_t got = ::read(err_[0], buffer, sizeof buffer);
            if (got == 0 || (got < 0 && errno != EINTR))
                return false;
            if (got > 0)
                err_text_.append(buffer, static_cast<std::size_t>(got));
        }
        return true;
    }

    ProgramResult wait()
    {
        ProgramResult result{.status = 0, .out = {}, .err = std::move(err_text_)};
        pollfd fds[] = {{out_[0], POLLIN, 0}, {err_[0], POLLIN, 0}};
        std::string* const texts[] = {&result.out, &result.err};
        for (int open = 2; open > 0;) {
            if (::poll(fds, 2, -1) < 0 && errno != EINTR)
                throw std::runtime_error{"poll"};
            for (int i = 0; i < 2; ++i) {
                if (fds[i].fd < 0 || fds[i].revents == 0)
                    continue;
                char buffer[4096];
                const ssize_t got = ::read(fds[i].fd, buffer, sizeof buffer);
                if (got > 0) {
                    texts[i]->append(buffer, static_cast<std::size_t>(got));
                } else if (got == 0) {
                    ::close(std::exchange(fds[i].fd, -1));
                    --open;
                }
            }
        }
        int status = 0;
        while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
        }
        result.status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
        return result;
    }

  private:
    pid_t pid_ = -1;
    int out_[2];
    int err_[2];
    std::string err_text_;
};

//! Makes the child an ordinary user; for RunningProgram's \p before.
inline void become_nobody()
{
    if (::setgroups(0, nullptr) != 0 || ::setgid(65534) != 0 || ::setuid(65534) != 0)
        ::_exit(126);
}

} // namespace mrz::test
