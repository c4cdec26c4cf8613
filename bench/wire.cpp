// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Two processes of one machine: operations over a connection of the software adapter, beside the same bytes through
//! TCP's loopback and through a Unix socket.
//!
//! Bandwidth: many under way, an iteration is one of them. Latency: one at a time, until it is known to have arrived:
//! a completion, or the peer's answer. `cpu_ns/KiB` is the CPU time of both processes; who polls is never idle.
#include "subject.hpp"
#include "touched_memory.hpp"

#include <mrzone/region.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace bench {

namespace {

enum class Operation { write, read, send };
enum class Measure { bandwidth, latency };

constexpr std::uint32_t depth = 32;
constexpr std::size_t most_outstanding = 4_MiB;
constexpr std::size_t answer_length = 8;

double seconds(clockid_t clock)
{
    timespec now{};
    ::clock_gettime(clock, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

//! This process on one CPU and the peer on another, where there are two: else now and then both are on one, and who
//! polls keeps the other from its work.
class Apart {
  public:
    Apart() noexcept
    {
        CPU_ZERO(&before_);
        ::sched_getaffinity(0, sizeof before_, &before_);
        stay_on(0);
    }
    Apart(const Apart&) = delete;
    Apart& operator=(const Apart&) = delete;
    ~Apart() { ::sched_setaffinity(0, sizeof before_, &before_); }

    //! On the CPU that comes \p place-th of those that are allowed.
    void stay_on(int place) const noexcept
    {
        cpu_set_t one;
        CPU_ZERO(&one);
        for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
            if (CPU_ISSET(cpu, &before_) && place-- == 0)
                CPU_SET(cpu, &one);
        }
        if (CPU_COUNT(&one) == 1)
            ::sched_setaffinity(0, sizeof one, &one);
    }

  private:
    cpu_set_t before_{};
};

//! A child that runs \p work until it returns or is no longer wanted.
class Peer {
  public:
    explicit Peer(const std::function<void(int socket)>& work)
    {
        std::array<int, 2> ends{};
        if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
            throw std::runtime_error{"no socket for the peer"};
        socket_ = ends[0];
        pid_ = ::fork();
        if (pid_ == 0) {
            ::close(ends[0]);
            apart_.stay_on(1);
            try {
                work(ends[1]);
            } catch (const std::exception& error) {
                std::fprintf(stderr, "mrz-bench: the peer: %s\n", error.what());
            }
            ::_exit(0);
        }
        ::close(ends[1]);
        if (pid_ < 0)
            throw std::runtime_error{"no process for the peer"};
        ::clock_getcpuclockid(pid_, &clock_);
    }
    Peer(const Peer&) = delete;
    Peer& operator=(const Peer&) = delete;
    ~Peer()
    {
        ::close(socket_);
        ::kill(pid_, SIGKILL);
        while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
        }
    }
    //! To the child's: for what is arranged beforehand.
    [[nodiscard]] int socket() const noexcept { return socket_; }
    //! Of this process and the child.
    [[nodiscard]] double cpu_seconds() const { return seconds(CLOCK_PROCESS_CPUTIME_ID) + seconds(clock_); }

  private:
    Apart apart_;
    int socket_ = -1;
    pid_t pid_ = -1;
    clockid_t clock_{};
};

void send_all(int socket, const void* data, std::size_t length)
{
    const auto* at = static_cast<const char*>(data);
    while (length != 0) {
        const ssize_t sent = ::send(socket, at, length, MSG_NOSIGNAL);
        if (sent <= 0)
            throw std::runtime_error{"the peer is gone"};
        at += sent;
        length -= static_cast<std::size_t>(sent);
    }
}

bool receive_all(int socket, void* data, std::size_t length)
{
    auto* at = static_cast<char*>(data);
    while (length != 0) {
        const ssize_t got = ::recv(socket, at, length, 0);
        if (got <= 0)
            return false;
        at += got;
        length -= static_cast<std::size_t>(got);
    }
    return true;
}

//! Times the state's iterations by \p one, and \p finish with them.
void time(benchmark::State& state, const Peer& peer, std::size_t length, const std::function<void()>& one,
          const std::function<void()>& finish)
{
    const double cpu = peer.cpu_seconds();
    for ([[maybe_unused]] auto iteration : state)
        one();
    finish();
    const auto bytes = static_cast<double>(state.iterations()) * static_cast<double>(length);
    state.counters["cpu_ns/KiB"] = (peer.cpu_seconds() - cpu) * 1e9 / (bytes / 1024);
    state.SetItemsProcessed(state.iterations());
    state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(length));
}

// ---- The software adapter -----------------------------------------------------------------------------------------

struct Place {
    std::uint64_t iova;
    std::uint32_t rkey;
};

mrz::ConnectOptions connect_options()
{
    mrz::ConnectOptions options;
    options.queue_pair = {.send_requests = 2 * depth, .receive_requests = 2 * depth, .inline_bytes = answer_length};
    return options;
}

mrz::Completion wait(mrz::QueuePair& queue_pair)
{
    mrz::Completion done;
    while (queue_pair.poll({&done, 1}) == 0) {
    }
    must_succeed(done.status);
    return done;
}

//! Offers memory, and with \p answers takes messages and says so.
void serve(int socket, std::size_t length, Operation operation, Measure measure)
{
    const mrz::Domain domain = mrz::Domain::open("soft");
    const TouchedMemory memory{Pages::small, std::max(length, 4_KiB)};
    const auto region = domain.register_memory(memory.bytes(), mrz::Access::local_write | mrz::Access::remote_write |
                                                                   mrz::Access::remote_read);
    const auto listener = domain.listen("localhost:0");
    std::array<char, 64> address{};
    listener->address().copy(address.data(), address.size() - 1);
    send_all(socket, address.data(), address.size());
    const Place place{region.iova().value(), region.rkey().value};
    mrz::ConnectOptions options = connect_options();
    options.private_data = std::as_bytes(std::span{&place, 1});
    const mrz::Segment segment{region.iova(), static_cast<std::uint32_t>(length), region.lkey()};
    const auto receive = [&segment](mrz::QueuePair& queue_pair) {
        queue_pair.post_receive({.segments = {&segment, 1}});
    };
    const auto request = listener->wait(std::chrono::seconds{10});
    const auto connection = request->accept(options, [&](mrz::QueuePair& queue_pair) {
        for (std::uint32_t i = 0; i < 2 * depth; ++i)
            receive(queue_pair);
    });
    if (operation != Operation::send) { // what is one-sided needs nobody here
        char nothing = 0;
        receive_all(socket, &nothing, 1);
        return;
    }
    const std::array<std::byte, answer_length> answer{};
    const mrz::Segment said{mrz::Iova{reinterpret_cast<std::uintptr_t>(answer.data())}, answer.size(), {}};
    for (;;) {
        const mrz::Completion done = wait(connection->queue_pair());
        if (done.opcode != mrz::WcOpcode::receive)
            continue;
        receive(connection->queue_pair());
        if (measure == Measure::latency)
            connection->queue_pair().post_send({.segments = {&said, 1}, .inlined = true});
    }
}

void wire(benchmark::State& state, Operation operation, std::size_t length, Measure measure)
{
    run(state, [&] {
        const Peer peer{[&](int socket) { serve(socket, length, operation, measure); }};
        const mrz::Domain domain = mrz::Domain::open("soft");
        const TouchedMemory memory{Pages::small, std::max(length, 4_KiB)};
        const auto region = domain.register_memory(memory.bytes(), mrz::Access::local_write);
        std::array<char, 64> address{};
        if (!receive_all(peer.socket(), address.data(), address.size()))
            throw std::runtime_error{"the peer has no address"};
        const auto connection = domain.connect(address.data(), connect_options());
        mrz::QueuePair& queue_pair = connection->queue_pair();
        Place place{};
        std::memcpy(&place, connection->private_data().data(), sizeof place);

        static constexpr std::array opcodes = {mrz::Opcode::rdma_write, mrz::Opcode::rdma_read, mrz::Opcode::send};
        const mrz::Segment segment{region.iova(), static_cast<std::uint32_t>(length), region.lkey()};
        const mrz::SendRequest request{.opcode = opcodes[static_cast<std::size_t>(operation)],
                                       .segments = {&segment, 1},
                                       .remote_iova = mrz::Iova{place.iova},
                                       .rkey = mrz::RKey{place.rkey}};
        const mrz::Segment answer{region.iova(), answer_length, region.lkey()};
        const auto receive = [&] { queue_pair.post_receive({.segments = {&answer, 1}}); };
        std::size_t under_way = 0;
        if (measure == Measure::latency) {
            if (operation == Operation::send)
                receive();
            time(
                state, peer, length,
                [&] {
                    queue_pair.post_send(request);
                    wait(queue_pair);
                    if (operation == Operation::send) {
                        wait(queue_pair);
                        receive();
                    }
                },
                [] {});
            return;
        }
        const std::size_t most = std::clamp<std::size_t>(most_outstanding / length, 4, depth);
        std::array<mrz::Completion, depth> done;
        const auto poll = [&] {
            const std::size_t got = queue_pair.poll(done);
            for (std::size_t i = 0; i < got; ++i)
                must_succeed(done[i].status);
            under_way -= got;
        };
        time(
            state, peer, length,
            [&] {
                while (under_way == most)
                    poll();
                queue_pair.post_send(request);
                ++under_way;
            },
            [&] {
                while (under_way != 0)
                    poll();
            });
    });
}

// ---- Sockets ------------------------------------------------------------------------------------------------------

//! Two connected TCP sockets over the loopback.
std::pair<int, int> tcp_pair()
{
    const int listening = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof at;
    const int near = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (::bind(listening, reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0 || ::listen(listening, 1) != 0 ||
        ::getsockname(listening, reinterpret_cast<sockaddr*>(&at), &length) != 0 ||
        ::connect(near, reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0)
        throw std::runtime_error{"no TCP over the loopback"};
    const int far = ::accept4(listening, nullptr, nullptr, SOCK_CLOEXEC);
    ::close(listening);
    const int yes = 1;
    for (const int socket : {near, far})
        ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    return {near, far};
}

std::pair<int, int> unix_pair()
{
    std::array<int, 2> ends{};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
        throw std::runtime_error{"no Unix sockets"};
    return {ends[0], ends[1]};
}

void stream(benchmark::State& state, std::pair<int, int> (*make)(), std::size_t length, Measure measure)
{
    run(state, [&] {
        const auto [near, far] = make();
        const Peer peer{[&, near = near, far = far](int) {
            ::close(near);
            const TouchedMemory memory{Pages::small, std::max(length, 4_KiB)};
            const std::array<char, answer_length> answer{};
            while (receive_all(far, memory.bytes().data(), length)) {
                if (measure == Measure::latency)
                    send_all(far, answer.data(), answer.size());
            }
        }};
        ::close(far);
        const TouchedMemory memory{Pages::small, std::max(length, 4_KiB)};
        std::array<char, answer_length> answer{};
        time(
            state, peer, length,
            [&, near = near] {
                send_all(near, memory.bytes().data(), length);
                if (measure == Measure::latency && !receive_all(near, answer.data(), answer.size()))
                    throw std::runtime_error{"the peer is gone"};
            },
            [&, near = near] { // all has arrived when the peer ends
                ::shutdown(near, SHUT_WR);
                receive_all(near, answer.data(), 1);
            });
        ::close(near);
    });
}

[[maybe_unused]] const bool subjects = [] {
    const auto add = [](const std::string& name, const std::function<void(benchmark::State&)>& subject) {
        benchmark::RegisterBenchmark(name.c_str(), subject)->UseRealTime()->MinTime(0.1);
    };
    for (const auto& [measure, suffix] :
         {std::pair{Measure::bandwidth, "bandwidth"}, std::pair{Measure::latency, "latency"}}) {
        for (const auto& [length, text] : {std::pair{std::size_t{64}, "64"}, std::pair{4_KiB, "4K"},
                                           std::pair{64_KiB, "64K"}, std::pair{1_MiB, "1M"}}) {
            const std::string end = std::string{"/"} + text + "/" + suffix;
            for (const auto& [operation, name] :
                 {std::pair{Operation::write, "write"}, std::pair{Operation::read, "read"},
                  std::pair{Operation::send, "send"}})
                add("wire/" + std::string{name} + end,
                    [operation = operation, length = length, measure = measure](benchmark::State& state) {
                        wire(state, operation, length, measure);
                    });
            add("tcp" + end, [length = length, measure = measure](benchmark::State& state) {
                stream(state, tcp_pair, length, measure);
            });
            add("unix" + end, [length = length, measure = measure](benchmark::State& state) {
                stream(state, unix_pair, length, measure);
            });
        }
    }
    return true;
}();

} // namespace

} // namespace bench
