// SPDX-License-Identifier: BSD-3-Clause
#include "connection.hpp"

#include "address.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include <sys/socket.h>
#include <sys/time.h>

namespace mrz::soft {
namespace {

using Clock = std::chrono::steady_clock;

class SoftConnection final : public Connection {
  public:
    SoftConnection(std::shared_ptr<Adapter> adapter, std::unique_ptr<LinkableQueuePair> queue_pair,
                   std::unique_ptr<hca::Wire> wire, const Greeting& greeting, std::string peer)
        : adapter_{std::move(adapter)}, said_{greeting.data().begin(), greeting.data().end()}, peer_{std::move(peer)},
          queue_pair_{std::move(queue_pair)}, link_{adapter_->keeper().add(std::move(wire), [&](const auto& link) {
              queue_pair_->join(link, greeting.qpn);
          })}
    {
    }
    SoftConnection(const SoftConnection&) = delete;
    SoftConnection& operator=(const SoftConnection&) = delete;
    ~SoftConnection() override
    {
        disconnect();
        adapter_->keeper().remove(link_);
    }

    [[nodiscard]] QueuePair& queue_pair() noexcept override { return *queue_pair_; }
    [[nodiscard]] std::span<const std::byte> private_data() const noexcept override { return said_; }
    [[nodiscard]] std::string peer() const override { return peer_; }
    [[nodiscard]] bool connected() noexcept override { return adapter_->is_here() && link_->open(); }
    void disconnect() noexcept override
    {
        if (!adapter_->is_here())
            return;
        try {
            // First, so that it is flushed: what ends with the link ends as if the peer were lost.
            if (link_->open())
                queue_pair_->fail();
            link_->close();
            adapter_->engine().progress(*link_);
        } catch (const std::exception& error) { // for want of memory
            log(Severity::error, std::string{"soft: a connection did not end as it should: "} + error.what());
        }
    }

  private:
    std::shared_ptr<Adapter> adapter_;
    std::vector<std::byte> said_;
    std::string peer_;
    std::unique_ptr<LinkableQueuePair> queue_pair_;
    std::shared_ptr<hca::Link> link_;
};

FileDescriptor reach(std::uint16_t port, const std::string& what, Clock::time_point until)
{
    FileDescriptor socket{::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)};
    if (!socket.valid())
        throw Error{errno,
                    {.trouble = Trouble::internal,
                     .what = what,
                     .limit = std::string{"socket: "} + std::strerror(errno),
                     .remedy = "raise the limit on open files (ulimit -n)"}};
    // Connecting waits while too many others do.
    const auto left =
        std::max<std::int64_t>(std::chrono::ceil<std::chrono::microseconds>(until - Clock::now()).count(), 1000);
    const timeval time{.tv_sec = left / 1'000'000, .tv_usec = left % 1'000'000};
    ::setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &time, sizeof time);
    const SocketAddress to = socket_address(port);
    while (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&to.address), to.length) != 0) {
        if (errno == EINTR && Clock::now() < until)
            continue;
        if (errno == ECONNREFUSED)
            refuse_peer(ECONNREFUSED, what, "nobody waits at that port on this machine",
                        "start the program that listens there, in the same network namespace");
        if (errno == EAGAIN || errno == EINTR)
            refuse_peer(ETIMEDOUT, what, "the program that listens there takes no more connections",
                        "try again later, or with a longer timeout");
        refuse_peer(errno, what, std::string{"connect: "} + std::strerror(errno), "look at the program there");
    }
    const ucred peer = peer_of(socket.get());
    if (!may_meet(peer))
        refuse_peer(ECONNREFUSED, what, describe(peer) + " listens there, and only one user's processes connect",
                    "run both as the same user, or one of them as root");
    return socket;
}

} // namespace

void refuse_peer(int error, const std::string& what, std::string limit, std::string remedy)
{
    throw Error{error,
                {.trouble = Trouble::peer, .what = what, .limit = std::move(limit), .remedy = std::move(remedy)}};
}

std::unique_ptr<LinkableQueuePair> prepare(const std::shared_ptr<Adapter>& adapter, hca::Pd pd,
                                           const ConnectOptions& options,
                                           const std::function<void(QueuePair&)>& before, const std::string& what)
{
    check_private_data(options.private_data, what);
    std::unique_ptr<LinkableQueuePair> queue_pair = create_queue_pair(adapter, pd, options.queue_pair);
    if (before)
        before(*queue_pair);
    return queue_pair;
}

std::unique_ptr<Connection> join(std::shared_ptr<Adapter> adapter, std::unique_ptr<LinkableQueuePair> queue_pair,
                                 std::unique_ptr<hca::Wire> wire, const Greeting& greeting, std::string peer)
{
    return std::make_unique<SoftConnection>(std::move(adapter), std::move(queue_pair), std::move(wire), greeting,
                                            std::move(peer));
}

std::unique_ptr<Connection> connect(std::shared_ptr<Adapter> adapter, hca::Pd pd, std::string_view address,
                                    const ConnectOptions& options, const std::function<void(QueuePair&)>& before)
{
    const std::string what = "connecting to " + std::string{address};
    const Clock::time_point until = deadline_after(options.timeout);
    const std::uint16_t port = port_of(address, false, what);
    std::unique_ptr<LinkableQueuePair> queue_pair = prepare(adapter, pd, options, before, what);
    // First, so that nothing keeps it silent once it has connected.
    hca::WireMemory memory = hca::WireMemory::make();
    FileDescriptor socket = reach(port, what, until);
    if (!send(socket.get(), make_greeting(Greeting::ask, queue_pair->number(), options.private_data),
              memory.descriptor()))
        refuse_peer(ECONNRESET, what, std::string{"it hung up: "} + std::strerror(errno),
                    "look why the program there ended");
    if (!wait_readable(socket.get(), until))
        refuse_peer(ETIMEDOUT, what,
                    "no answer in " + std::to_string(options.timeout.count()) + " ms, though a program listens there",
                    "see that it waits for connections, or wait longer");
    Received received = receive(socket.get());
    switch (received.result) {
    case Received::Result::greeting:
        break;
    case Received::Result::nonsense:
        refuse_peer(EPROTO, what, "what listens there does not speak as this version of mrzone does",
                    "let both ends be of one version");
    default:
        refuse_peer(ECONNRESET, what, "it hung up before it answered", "look why the program there ended");
    }
    if (received.greeting.kind != Greeting::accept)
        refuse_peer(ECONNREFUSED, what, "it was refused: " + received.greeting.text(),
                    "do as the refusal says, or ask whoever runs the program there");
    const std::string peer = describe(peer_of(socket.get()));
    auto wire = std::make_unique<hca::Wire>(std::move(socket), std::move(memory), hca::Wire::Side::maker);
    return join(std::move(adapter), std::move(queue_pair), std::move(wire), received.greeting, peer);
}

} // namespace mrz::soft
