// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! The other end of a connection: this program once more, in a process of its own, which does what it is told by
//! lines of text. So it opens its devices itself, and can be killed.
#pragma once

#include "fixture.hpp"

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <span>
#include <sstream>
#include <string>

#include <sys/types.h>

namespace mrz::test {

//! What the peer's process does: reads commands, answers each with a line, "ok …" or "error ERRNO …", until its
//! input ends.
int run_peer(const std::string& device);

//! A checksum, for memory that is compared across processes.
std::uint64_t sum_of(std::span<const std::byte> bytes);

//! The peer as a test sees it. Ends with it.
class Peer {
  public:
    explicit Peer(const std::string& device);
    Peer(const Peer&) = delete;
    Peer& operator=(const Peer&) = delete;
    ~Peer();

    //! Sends a command whose answer() is read later.
    void tell(const std::string& command);
    //! The answer without its first word; fails the test if that is not "ok".
    std::string answer();
    //! The whole answer.
    std::string any_answer();
    std::string ask(const std::string& command)
    {
        tell(command);
        return answer();
    }
    template <class Number>
    Number ask_number(const std::string& command)
    {
        std::istringstream words{ask(command)};
        Number number{};
        words >> number;
        return number;
    }
    //! By SIGKILL; returns when it is gone.
    void kill();

  private:
    pid_t pid_ = -1;
    std::FILE* to_ = nullptr;
    std::FILE* from_ = nullptr;
};

//! A region of the peer's.
struct Exposed {
    Iova iova;
    RKey rkey;
};

} // namespace mrz::test
