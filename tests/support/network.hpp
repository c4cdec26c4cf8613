// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Network namespaces without names, and what lies in them: all of it vanishes with the processes that use it,
//! however they end.
#pragma once

#include "run_program.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <sched.h>
#include <sstream>
#include <stdexcept>
#include <string>
#include <system_error>
#include <unistd.h>
#include <vector>

namespace mrz::test {

//! The calling thread is within a namespace for the life of an object.
class NetworkNamespace {
  public:
    //! An empty one, silent: no IPv6, whose neighbours would be looked for unasked.
    NetworkNamespace()
    {
        const int before = open_own();
        if (::unshare(CLONE_NEWNET) != 0) {
            ::close(before);
            throw std::system_error{errno, std::generic_category(), "unshare(CLONE_NEWNET)"};
        }
        fd_ = open_own();
        for (const char* const which : {"all", "default"})
            std::ofstream{std::string{"/proc/sys/net/ipv6/conf/"} + which + "/disable_ipv6"} << 1;
        ::setns(before, CLONE_NEWNET);
        ::close(before);
    }
    NetworkNamespace(const NetworkNamespace&) = delete;
    NetworkNamespace& operator=(const NetworkNamespace&) = delete;
    ~NetworkNamespace() { ::close(fd_); }

    //! For good: the calling thread's new sockets and children are there.
    void enter() const
    {
        if (::setns(fd_, CLONE_NEWNET) != 0)
            throw std::system_error{errno, std::generic_category(), "setns"};
    }
    //! \return what \p body returns, run in the namespace.
    template <class Body>
    auto run(const Body& body) const
    {
        struct Back {
            int fd;
            ~Back()
            {
                ::setns(fd, CLONE_NEWNET);
                ::close(fd);
            }
        } const back{open_own()};
        enter();
        return body();
    }

    //! Runs ip(8) there. Throws with what it said.
    void ip(const std::string& arguments) const
    {
        std::vector<std::string> command{program()};
        std::istringstream words{arguments};
        for (std::string word; words >> word;)
            command.push_back(word);
        const ProgramResult result = RunningProgram{command, {}, [this] { enter(); }}.wait();
        if (result.status != 0)
            throw std::runtime_error{"ip " + arguments + ": " + result.err};
    }
    //! As ip(8) takes it for a namespace.
    [[nodiscard]] std::string path() const
    {
        return "/proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(fd_);
    }

    //! Where ip(8) is; empty if it is missing.
    static std::string program()
    {
        for (const char* const place : {"/usr/sbin/ip", "/sbin/ip", "/usr/bin/ip", "/bin/ip"})
            if (::access(place, X_OK) == 0)
                return place;
        return {};
    }

  private:
    static int open_own()
    {
        const int fd = ::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
        if (fd < 0)
            throw std::system_error{errno, std::generic_category(), "/proc/thread-self/ns/net"};
        return fd;
    }

    int fd_ = -1;
};

//! A cable between two namespaces, both ends up.
inline void connect(const NetworkNamespace& one, const std::string& one_name, const NetworkNamespace& other,
                    const std::string& other_name, unsigned mtu = 1500)
{
    const std::string size = " mtu " + std::to_string(mtu);
    one.ip("link add " + one_name + size + " type veth peer name " + other_name + size + " netns " + other.path());
    one.ip("link set " + one_name + " up");
    other.ip("link set " + other_name + " up");
}

} // namespace mrz::test
