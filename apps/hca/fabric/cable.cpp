// SPDX-License-Identifier: BSD-3-Clause
#include "fabric/cable.hpp"

#include <mrzone/base.hpp>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/un.h>
#include <unistd.h>

namespace mrz::fabric {
namespace {

using sockets::Stop;

// Milliseconds.
constexpr int until_answered = 5000;
constexpr int until_asked = 1000; // by who has come: others wait meanwhile
constexpr int pause = 500;        // before it is tried again
constexpr int news_of_end = 2000;
constexpr int look_again = 1000; // whether the path still leads here

constexpr int type = SOCK_SEQPACKET | SOCK_NONBLOCK;

[[noreturn]] void refuse(const std::string& path, Trouble trouble, int error, std::string limit, std::string remedy)
{
    throw Error{error,
                {.trouble = trouble,
                 .what = "linking at " + printable(path),
                 .limit = std::move(limit),
                 .remedy = std::move(remedy)}};
}

const char* lack_of(Received::Result result)
{
    switch (result) {
    case Received::Result::nothing_yet:
        return "says nothing";
    case Received::Result::gone:
        return "hangs up without a word";
    default:
        return "does not speak as this version of mrz-hca does";
    }
}

} // namespace

Cable::Cable(std::string path, PortAddress own, std::function<void(Joined)> joined)
    : path_{std::move(path)}, own_{own}, joined_{std::move(joined)}, lost_{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)}
{
    constexpr std::size_t longest = sizeof(sockaddr_un::sun_path) - 1;
    if (path_.empty() || path_.size() > longest)
        refuse(path_, Trouble::invalid, EINVAL, "the path of a socket has 1 to " + std::to_string(longest) + " bytes",
               "give another path");
    if (!lost_.valid())
        refuse(path_, Trouble::internal, errno, "there is no descriptor for an event", "raise ulimit -n");
    thread_ = std::thread{[this] { run(); }};
}

Cable::~Cable()
{
    stop_.set();
    thread_.join();
}

void Cable::lost() const noexcept
{
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto written = ::write(lost_.get(), &one, sizeof one);
}

void Cable::run()
{
    pthread_setname_np(pthread_self(), "mrz-hca-link");
    while (!stop_.is_set()) {
        try {
            if (std::optional<Joined> joined = join()) {
                said_.clear();
                joined_(std::move(*joined));
                wait_until_lost();
            }
        } catch (const std::exception& error) {
            say(Severity::warning, error.what());
            stop_.wait(-1, 0, pause);
        }
    }
}

std::optional<Cable::Joined> Cable::join()
{
    if (listener_)
        return accept();
    FileDescriptor socket;
    try {
        socket = sockets::connect(path_, type);
    } catch (const Error& error) {
        if (error.error_number() != ENOENT && error.error_number() != ECONNREFUSED)
            throw;
    }
    if (socket.valid())
        return ask(std::move(socket));
    try {
        listener_.emplace(path_, type);
    } catch (const Error& error) {
        if (error.error_number() != EADDRINUSE) // else another one was quicker, who is asked next
            throw;
    }
    return std::nullopt;
}

std::optional<Cable::Joined> Cable::ask(FileDescriptor socket)
{
    hca::WireMemory memory = hca::WireMemory::make();
    if (!send(socket.get(), make_greeting(Greeting::ask, own_), memory.descriptor())) {
        stop_.wait(-1, 0, pause);
        return std::nullopt;
    }
    const Received received = hear(socket.get(), until_answered);
    if (stop_.is_set())
        return std::nullopt;
    if (received.result != Received::Result::greeting)
        refuse(path_, Trouble::peer, ETIMEDOUT, std::string{"who listens there "} + lack_of(received.result),
               "see that it is mrz-hca, and let both ends be of one version");
    if (received.greeting.kind != Greeting::accept)
        refuse(path_, Trouble::peer, ECONNREFUSED, "the other end refuses: " + received.greeting.why(),
               "do as it says, or give another path");
    check(received.greeting.port());
    return Joined{std::make_unique<hca::Wire>(std::move(socket), std::move(memory), hca::Wire::Side::maker),
                  received.greeting.port()};
}

std::optional<Cable::Joined> Cable::accept()
{
    while (stop_.wait(listener_->descriptor(), POLLIN, look_again) == Stop::Woken::timeout) {
        // Whoever removes the socket of a path hides who listens: the other one would listen, too, and wait for ever.
        if (!listener_->is_at_its_path()) {
            listener_.reset();
            return std::nullopt;
        }
    }
    std::optional<FileDescriptor> socket = listener_->accept(stop_);
    if (!socket)
        return std::nullopt;
    Received received = hear(socket->get(), until_asked);
    if (received.result == Received::Result::nonsense)
        say(Severity::warning, "who came to " + printable(path_) + ' ' + lack_of(received.result));
    if (received.result != Received::Result::greeting || received.greeting.kind != Greeting::ask)
        return std::nullopt;
    try {
        check(received.greeting.port());
        hca::WireMemory memory = hca::WireMemory::adopt(std::move(received.memory));
        if (!send(socket->get(), make_greeting(Greeting::accept, own_)))
            return std::nullopt; // it is gone
        return Joined{std::make_unique<hca::Wire>(std::move(*socket), std::move(memory), hca::Wire::Side::taker),
                      received.greeting.port()};
    } catch (const Error& error) {
        send(socket->get(), make_greeting(Greeting::refuse, own_, error.cause().limit));
        say(Severity::warning, error.what());
        return std::nullopt;
    }
}

void Cable::wait_until_lost()
{
    while (!stop_.is_set()) {
        std::vector<pollfd> wanted{{stop_.descriptor(), POLLIN, 0}, {lost_.get(), POLLIN, 0}};
        if (listener_)
            wanted.push_back({listener_->descriptor(), POLLIN, 0});
        ::poll(wanted.data(), wanted.size(), -1);
        if (is_lost(0))
            return;
        if (!listener_ || wanted.back().revents == 0)
            continue;
        // Perhaps the other one begins anew, and is here before its end is known.
        if (is_lost(news_of_end))
            return;
        if (const std::optional<FileDescriptor> third = listener_->accept(stop_)) {
            // Who is hung up on with his words unread is told of a reset only.
            static_cast<void>(hear(third->get(), until_asked));
            send(third->get(), make_greeting(Greeting::refuse, own_, "two devices are linked here already"));
        }
    }
}

bool Cable::is_lost(int milliseconds) const
{
    if (stop_.wait(lost_.get(), POLLIN, milliseconds) != Stop::Woken::ready)
        return false;
    std::uint64_t times = 0;
    return ::read(lost_.get(), &times, sizeof times) > 0;
}

Received Cable::hear(int socket, int milliseconds) const
{
    Received received;
    if (stop_.wait(socket, POLLIN, milliseconds) == Stop::Woken::ready)
        received = receive(socket);
    if (received.result == Received::Result::nonsense)
        send(socket, make_greeting(Greeting::refuse, own_, "this is mrz-hca of another version"));
    return received;
}

void Cable::check(const PortAddress& peer) const
{
    if (peer.lid == own_.lid)
        refuse(path_, Trouble::busy, EADDRINUSE, "both devices have the LID " + std::to_string(own_.lid),
               "give one of them another --name or --lid");
    if (peer.guid == own_.guid)
        refuse(path_, Trouble::busy, EADDRINUSE, "both devices have the GUID " + format_hex(own_.guid),
               "give one of them another --name");
}

void Cable::say(Severity severity, std::string line)
{
    if (line == said_)
        return;
    log(severity, line);
    said_ = std::move(line);
}

} // namespace mrz::fabric
