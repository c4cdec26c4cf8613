// SPDX-License-Identifier: BSD-3-Clause
#include "tcp.hpp"

#include "from_peer.hpp"
#include "hello.hpp"
#include "outcome.hpp"
#include "settings.hpp"

#include "common/measuring.hpp"
#include "common/signals.hpp"

#include <mrzone/file_descriptor.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace mrz::perf {
namespace {

using Clock = std::chrono::steady_clock;

[[noreturn]] void fail(const char* what, int error)
{
    throw Error{error,
                {.trouble = Trouble::peer,
                 .what = what,
                 .limit = error == EAGAIN ? "it takes too long" : std::strerror(error),
                 .remedy = "look at the other end, and whether TCP may pass"}};
}

class Socket {
  public:
    Socket() = default;
    explicit Socket(int fd) noexcept : fd_{fd} {}

    [[nodiscard]] int fd() const noexcept { return fd_.get(); }
    [[nodiscard]] explicit operator bool() const noexcept { return fd_.valid(); }
    void set_patience(std::chrono::milliseconds most) const
    {
        const timeval time{.tv_sec = most.count() / 1000, .tv_usec = most.count() % 1000 * 1000};
        ::setsockopt(fd(), SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time);
        ::setsockopt(fd(), SOL_SOCKET, SO_SNDTIMEO, &time, sizeof time);
    }
    void write(std::span<const std::byte> bytes) const
    {
        while (!bytes.empty()) {
            const ssize_t done = ::send(fd(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
            if (done < 0) {
                if (errno == EINTR)
                    continue;
                fail("writing to a TCP connection", errno);
            }
            bytes = bytes.subspan(static_cast<std::size_t>(done));
        }
    }
    void read(std::span<std::byte> bytes) const
    {
        while (!bytes.empty()) {
            const ssize_t done = ::recv(fd(), bytes.data(), bytes.size(), 0);
            if (done < 0) {
                if (errno == EINTR)
                    continue;
                fail("reading from a TCP connection", errno);
            }
            if (done == 0)
                fail("reading from a TCP connection", ECONNRESET);
            bytes = bytes.subspan(static_cast<std::size_t>(done));
        }
    }

  private:
    FileDescriptor fd_;
};

using Token = std::array<std::byte, sizeof(std::uint64_t)>;

Token token_of(std::uint64_t number)
{
    Token token;
    std::memcpy(token.data(), &number, sizeof number);
    return token;
}

//! On every address of both kinds, at a port that is free.
std::pair<Socket, std::uint16_t> listen_anywhere()
{
    Socket socket{::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    const bool six = static_cast<bool>(socket);
    if (!six)
        socket = Socket{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    if (!socket)
        fail("listening for TCP", errno);
    sockaddr_in6 address6{};
    address6.sin6_family = AF_INET6;
    sockaddr_in address4{};
    address4.sin_family = AF_INET;
    auto* const address = six ? reinterpret_cast<sockaddr*>(&address6) : reinterpret_cast<sockaddr*>(&address4);
    socklen_t length = six ? sizeof address6 : sizeof address4;
    const int off = 0;
    if (six)
        ::setsockopt(socket.fd(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    if (::bind(socket.fd(), address, length) != 0 || ::listen(socket.fd(), most_streams) != 0 ||
        ::getsockname(socket.fd(), address, &length) != 0)
        fail("listening for TCP", errno);
    return {std::move(socket), ntohs(six ? address6.sin6_port : address4.sin_port)};
}

Socket connect_to(const std::string& host, std::uint64_t port, std::chrono::milliseconds silence)
{
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    const bool bracketed = host.starts_with('[') && host.ends_with(']');
    const std::string name = bracketed ? host.substr(1, host.size() - 2) : host;
    if (::getaddrinfo(name.c_str(), std::to_string(port).c_str(), &hints, &found) != 0)
        fail("finding the server's address for TCP", EHOSTUNREACH);
    int error = EHOSTUNREACH;
    Socket socket;
    for (const addrinfo* one = found; one != nullptr && !socket; one = one->ai_next) {
        Socket candidate{::socket(one->ai_family, one->ai_socktype | SOCK_CLOEXEC, one->ai_protocol)};
        if (!candidate)
            continue;
        candidate.set_patience(silence);
        if (::connect(candidate.fd(), one->ai_addr, one->ai_addrlen) == 0)
            socket = std::move(candidate);
        else
            error = errno;
    }
    ::freeaddrinfo(found);
    if (!socket)
        fail("connecting by TCP", error);
    return socket;
}

//! Streams at one end, each by a thread of its own, over the memory that the other way uses, too.
class Streams {
  public:
    Streams(std::vector<Socket> sockets, const TcpPlan& plan, bool sends, std::vector<std::span<std::byte>> memory)
        : sockets_{std::move(sockets)}, plan_{plan}, sends_{sends}, memory_{std::move(memory)}
    {
        processor_ = app::processor_seconds();
        begin_ = Clock::now();
        for (std::size_t i = 0; i < sockets_.size(); ++i)
            threads_.emplace_back([this, i] { run(i); });
    }
    ~Streams()
    {
        for (const Socket& socket : sockets_)
            ::shutdown(socket.fd(), SHUT_RDWR);
    }
    Streams(const Streams&) = delete;
    Streams& operator=(const Streams&) = delete;

    [[nodiscard]] bool ended() const noexcept { return ended_ == sockets_.size(); }
    //! Throws what a thread failed with.
    TcpOutcome finish()
    {
        threads_.clear();
        if (failure_)
            std::rethrow_exception(failure_);
        return {.seconds = std::chrono::duration<double>(end_ - begin_).count(),
                .processor_seconds = processor_end_ - processor_};
    }

  private:
    void run(std::size_t number) noexcept
    {
        std::exception_ptr failure;
        try {
            move(sockets_[number], memory_[number]);
        } catch (...) {
            failure = std::current_exception();
        }
        const std::scoped_lock guard{mutex_};
        if (failure && !failure_)
            failure_ = failure;
        end_ = Clock::now();
        processor_end_ = app::processor_seconds();
        ++ended_;
    }
    void move(const Socket& socket, std::span<std::byte> memory) const
    {
        std::byte done{};
        std::size_t at = 0;
        for (std::uint64_t left = plan_.bytes; left > 0;) {
            const std::size_t count = static_cast<std::size_t>(std::min<std::uint64_t>(left, plan_.size));
            if (at + count > memory.size())
                at = 0;
            if (sends_)
                socket.write(memory.subspan(at, count));
            else
                socket.read(memory.subspan(at, count));
            at += count;
            left -= count;
        }
        // Who sends knows only so that all has come.
        if (sends_)
            socket.read({&done, 1});
        else
            socket.write({&done, 1});
    }

    std::vector<Socket> sockets_;
    const TcpPlan plan_;
    bool sends_;
    const std::vector<std::span<std::byte>> memory_; // of each stream
    double processor_ = 0;
    Clock::time_point begin_{};
    std::atomic<std::size_t> ended_ = 0;
    std::mutex mutex_; // guards what follows
    std::exception_ptr failure_;
    Clock::time_point end_{};
    double processor_end_ = 0;
    std::vector<std::jthread> threads_;
};

Json to_json(const TcpOutcome& outcome)
{
    return {{"seconds", outcome.seconds}, {"processor_seconds", outcome.processor_seconds}};
}

//! Strangers who connect to the port do not know the token, and are left.
std::vector<Socket> accept_all(Channel& channel, const Socket& listener, std::size_t count, std::uint64_t number,
                               std::chrono::milliseconds silence)
{
    std::vector<Socket> sockets;
    for (const auto deadline = Clock::now() + silence; sockets.size() < count;) {
        app::throw_if_interrupted();
        channel.watch();
        if (Clock::now() > deadline)
            fail("waiting for TCP connections", ETIMEDOUT);
        pollfd one{.fd = listener.fd(), .events = POLLIN, .revents = 0};
        if (::poll(&one, 1, 50) <= 0)
            continue;
        Socket socket{::accept4(listener.fd(), nullptr, nullptr, SOCK_CLOEXEC)};
        if (!socket)
            continue;
        socket.set_patience(std::chrono::milliseconds{2000});
        Token token;
        try {
            socket.read(token);
        } catch (const Error&) {
            continue;
        }
        if (token != token_of(number))
            continue;
        socket.set_patience(silence);
        sockets.push_back(std::move(socket));
    }
    return sockets;
}

} // namespace

TcpResults tcp_as_client(Channel& channel, const std::string& host, const TcpPlan& plan, std::span<const Line> lines,
                         std::chrono::milliseconds silence)
{
    channel.send("tcp", {{"size", plan.size}, {"bytes", plan.bytes}, {"from_server", plan.from_server}});
    const Json listening = channel.wait("listening");
    const std::uint64_t port = number_from(listening, "port", 65535);
    const Token token = token_of(number_from(listening, "token"));
    std::vector<Socket> sockets;
    std::vector<std::span<std::byte>> memory;
    for (const Line& line : lines) {
        memory.push_back(line.local);
        sockets.push_back(connect_to(host, port, silence));
        sockets.back().write(token);
    }
    channel.wait("connected");
    Streams streams{std::move(sockets), plan, !plan.from_server, std::move(memory)};
    for (; !streams.ended(); std::this_thread::sleep_for(std::chrono::milliseconds{1})) {
        channel.watch();
        app::throw_if_interrupted();
    }
    TcpResults results{.bytes = plan.bytes * lines.size(), .client = streams.finish(), .server = {}};
    channel.send("tcp_finished");
    const Json theirs = channel.wait("tcp_finished");
    results.server = {.seconds = real_from(theirs, "seconds"),
                      .processor_seconds = real_from(theirs, "processor_seconds")};
    return results;
}

void tcp_as_server(Channel& channel, const Json& message, const Settings& settings, std::span<const Line> lines,
                   std::chrono::milliseconds silence)
{
    const TcpPlan plan{.size = number_from(message, "size", settings.largest),
                       .bytes = number_from(message, "bytes"),
                       .from_server = flag_from(message, "from_server")};
    if (plan.size == 0)
        refuse_message("there is nothing to be moved by TCP");
    std::vector<std::span<std::byte>> memory;
    for (const Line& line : lines)
        memory.push_back(line.target);
    const auto [listener, port] = listen_anywhere();
    const std::uint64_t token = secret_number();
    channel.send("listening", {{"port", port}, {"token", token}});
    std::vector<Socket> sockets = accept_all(channel, listener, lines.size(), token, silence);
    channel.send("connected");
    Streams streams{std::move(sockets), plan, plan.from_server, std::move(memory)};
    std::optional<Json> theirs;
    for (; !theirs || !streams.ended(); std::this_thread::sleep_for(std::chrono::milliseconds{1})) {
        app::throw_if_interrupted();
        if (theirs)
            channel.watch();
        else
            theirs = channel.poll("tcp_finished");
    }
    channel.send("tcp_finished", to_json(streams.finish()));
}

} // namespace mrz::perf
