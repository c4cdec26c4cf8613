// SPDX-License-Identifier: BSD-3-Clause
#include "listener.hpp"

#include "address.hpp"
#include "connection.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>
#include <mutex>
#include <new>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>

namespace mrz::soft {
namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

// Who has connected and said nothing yet. What mrzone sends is there as soon as it has connected.
constexpr std::size_t most_silent = 32;
constexpr auto longest_silence = 2s;
constexpr int backlog = 128;
constexpr std::uint16_t first_chosen = 49152; // the ports that are nobody's (RFC 6335)

void tell_refusal(int socket, std::string_view why) noexcept
{
    send(socket, make_greeting(Greeting::refuse, 0, std::as_bytes(std::span{why})));
}

//! A peer that asked.
struct Asker {
    FileDescriptor socket;
    hca::WireMemory memory;
    Greeting greeting;
};

class SoftRequest final : public ConnectionRequest {
  public:
    SoftRequest(std::shared_ptr<Adapter> adapter, hca::Pd pd, Asker asker)
        : adapter_{std::move(adapter)}, pd_{pd}, asker_{std::move(asker)}, peer_{describe(peer_of(socket()))}
    {
    }
    SoftRequest(const SoftRequest&) = delete;
    SoftRequest& operator=(const SoftRequest&) = delete;
    ~SoftRequest() override
    {
        if (!answered_ && adapter_->is_here())
            tell_refusal(socket(), "nobody took the request");
    }

    [[nodiscard]] std::span<const std::byte> private_data() const noexcept override { return asker_.greeting.data(); }
    [[nodiscard]] std::string peer() const override { return peer_; }
    std::unique_ptr<Connection> accept(const ConnectOptions& options,
                                       const std::function<void(QueuePair&)>& before) override
    {
        const std::string what = "accepting " + peer_;
        const std::scoped_lock guard{mutex_};
        check_open(what);
        // Until it has been told, the request can still be refused.
        std::unique_ptr<LinkableQueuePair> queue_pair = prepare(adapter_, pd_, options, before, what);
        const Greeting answer = make_greeting(Greeting::accept, queue_pair->number(), options.private_data);
        FileDescriptor told{::fcntl(socket(), F_DUPFD_CLOEXEC, 0)};
        if (!told.valid())
            throw Error{errno,
                        {.trouble = Trouble::internal,
                         .what = what,
                         .limit = std::string{"fcntl: "} + std::strerror(errno),
                         .remedy = "raise the limit on open files (ulimit -n)"}};
        answered_ = true;
        std::unique_ptr<Connection> connection;
        try {
            auto wire = std::make_unique<hca::Wire>(std::move(asker_.socket), std::move(asker_.memory),
                                                    hca::Wire::Side::taker);
            connection = join(adapter_, std::move(queue_pair), std::move(wire), asker_.greeting, peer_);
        } catch (const std::exception& error) {
            tell_refusal(told.get(), error.what());
            throw;
        }
        if (!send(told.get(), answer))
            refuse_peer(ECONNRESET, what, std::string{"it hung up before it was told: "} + std::strerror(errno),
                        "let it connect again");
        return connection;
    }
    void refuse(std::string_view why) override
    {
        const std::scoped_lock guard{mutex_};
        check_open("refusing " + peer_);
        answered_ = true;
        tell_refusal(socket(), why);
        asker_.socket = {};
    }

  private:
    [[nodiscard]] int socket() const noexcept { return asker_.socket.get(); }
    void check_open(const std::string& what) const
    {
        if (answered_)
            throw Error{EALREADY,
                        {.trouble = Trouble::busy,
                         .what = what,
                         .limit = "it was answered before",
                         .remedy = "answer each request once"}};
    }

    std::shared_ptr<Adapter> adapter_;
    hca::Pd pd_;
    std::mutex mutex_;
    Asker asker_;
    const std::string peer_;
    bool answered_ = false;
};

class SoftListener final : public Listener {
  public:
    SoftListener(std::shared_ptr<Adapter> adapter, hca::Pd pd, FileDescriptor socket, std::uint16_t port)
        : adapter_{std::move(adapter)}, pd_{pd}, socket_{std::move(socket)}, port_{port}
    {
    }
    SoftListener(const SoftListener&) = delete;
    SoftListener& operator=(const SoftListener&) = delete;
    ~SoftListener() override
    {
        if (!adapter_->is_here())
            return;
        static constexpr std::string_view why = "the listener has ended";
        try {
            take_in(most_silent);
            hear_silent(); // who is hung up on with his words unread is told of a reset, and nothing else
        } catch (const std::bad_alloc&) { // then some are
        }
        for (const Silent& silent : silent_)
            tell_refusal(silent.socket.get(), why);
        for (const Asker& asker : askers_)
            tell_refusal(asker.socket.get(), why);
    }

    [[nodiscard]] std::string address() const override { return "localhost:" + std::to_string(port_); }
    std::unique_ptr<ConnectionRequest> wait(std::chrono::milliseconds timeout) override
    {
        const Clock::time_point until = deadline_after(timeout);
        // Tried again and again: ThreadSanitizer of g++ 12 does not know the call behind std::timed_mutex.
        std::unique_lock turn{mutex_, std::try_to_lock};
        while (!turn && Clock::now() < until) {
            ::poll(nullptr, 0, 1);
            static_cast<void>(turn.try_lock());
        }
        while (turn && adapter_->is_here()) {
            if (askers_.size() < most_silent)
                take_in(most_silent);
            hear_silent();
            if (!askers_.empty()) {
                Asker asker = std::move(askers_.front());
                askers_.pop_front();
                return std::make_unique<SoftRequest>(adapter_, pd_, std::move(asker));
            }
            if (std::exchange(full_, false))
                throw Error{EMFILE,
                            {.trouble = Trouble::internal,
                             .what = "taking a connection at " + address(),
                             .limit = "there is no descriptor or memory for it",
                             .remedy = "raise the limit on open files (ulimit -n)"}};
            if (Clock::now() >= until)
                break;
            sleep(until);
        }
        return nullptr;
    }

  private:
    struct Silent {
        FileDescriptor socket;
        Clock::time_point until;
    };

    // Connections that wait at the socket; not more than were there, so that who connects again and again does not
    // keep it here.
    void take_in(std::size_t most)
    {
        for (; most != 0; --most) {
            FileDescriptor socket{::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK)};
            if (!socket.valid()) {
                full_ = errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS;
                return;
            }
            const ucred peer = peer_of(socket.get());
            if (!may_meet(peer)) {
                tell_refusal(socket.get(), "only processes of one user, or root, connect");
                log(Severity::warning, "soft: refused " + describe(peer) + ", which is another user");
                continue;
            }
            // The one that has been silent longest makes room. It may have spoken since it was looked at.
            if (silent_.size() == most_silent) {
                static_cast<void>(hear(silent_.front()));
                silent_.pop_front();
            }
            silent_.push_back({std::move(socket), Clock::now() + longest_silence});
        }
    }
    void hear_silent()
    {
        std::deque<Silent> still;
        for (Silent& silent : silent_) {
            if (hear(silent))
                still.push_back(std::move(silent));
        }
        silent_ = std::move(still);
    }
    //! Whether it may still say something.
    bool hear(Silent& silent)
    {
        Received received = receive(silent.socket.get());
        if (received.result == Received::Result::nothing_yet)
            return Clock::now() < silent.until;
        if (received.result == Received::Result::gone)
            return false;
        if (received.result != Received::Result::greeting || received.greeting.kind != Greeting::ask) {
            tell_refusal(silent.socket.get(), "this is mrzone of another version");
            return false;
        }
        if (!received.memory.valid()) { // the kernel drops one that this process has no descriptor for
            tell_refusal(silent.socket.get(), "no memory came along, or there is no descriptor left");
            return false;
        }
        try {
            hca::WireMemory memory = hca::WireMemory::adopt(std::move(received.memory));
            askers_.push_back({std::move(silent.socket), std::move(memory), received.greeting});
        } catch (const Error& error) {
            tell_refusal(silent.socket.get(), error.cause().limit);
        }
        return false;
    }
    void sleep(Clock::time_point until) const
    {
        std::vector<pollfd> wanted{{socket_.get(), POLLIN, 0}};
        for (const Silent& silent : silent_) {
            wanted.push_back({silent.socket.get(), POLLIN, 0});
            until = std::min(until, silent.until);
        }
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now());
        ::poll(wanted.data(), wanted.size(), static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 1 << 30)));
    }

    std::shared_ptr<Adapter> adapter_;
    hca::Pd pd_;
    FileDescriptor socket_;
    std::uint16_t port_;
    std::mutex mutex_; // guards what follows
    std::deque<Silent> silent_;
    std::deque<Asker> askers_;
    bool full_ = false; // no descriptor for another
};

bool bind_to(const FileDescriptor& socket, std::uint16_t port)
{
    const SocketAddress at = socket_address(port);
    return ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&at.address), at.length) == 0;
}

} // namespace

std::unique_ptr<Listener> listen(std::shared_ptr<Adapter> adapter, hca::Pd pd, std::string_view address)
{
    const std::string what = "waiting for connections at " + (address.empty() ? "any port" : std::string{address});
    const auto fail = [&what](Trouble trouble, std::string limit, std::string remedy) {
        throw Error{errno,
                    {.trouble = trouble, .what = what, .limit = std::move(limit), .remedy = std::move(remedy)}};
    };
    std::uint16_t port = port_of(address, true, what);
    FileDescriptor socket{::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
    if (!socket.valid())
        fail(Trouble::internal, std::string{"socket: "} + std::strerror(errno),
             "raise the limit on open files (ulimit -n)");
    bool bound = port != 0 && bind_to(socket, port);
    if (port == 0) {
        static constexpr std::uint32_t ports = 65536 - first_chosen;
        const std::uint32_t start = std::random_device{}() % ports;
        for (std::uint32_t i = 0; i < ports && !bound; ++i) {
            port = static_cast<std::uint16_t>(first_chosen + (start + i) % ports);
            bound = bind_to(socket, port);
            if (!bound && errno != EADDRINUSE)
                break;
        }
    }
    if (!bound && errno == EADDRINUSE)
        fail(Trouble::busy, "somebody waits there already", "choose another port, or 0 for any that is free");
    if (!bound || ::listen(socket.get(), backlog) != 0)
        fail(Trouble::internal, std::string{"bind, listen: "} + std::strerror(errno), "choose another port");
    return std::make_unique<SoftListener>(std::move(adapter), pd, std::move(socket), port);
}

} // namespace mrz::soft
