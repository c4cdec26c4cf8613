// SPDX-License-Identifier: BSD-3-Clause
#include "control/server.hpp"

#include <mrzone/base.hpp>

#include <algorithm>
#include <exception>
#include <utility>

namespace mrz::control {
namespace {

constexpr std::chrono::milliseconds until_accepting_again{100};

} // namespace

Server::Server(std::string path, const Commands& commands) : commands_{commands}, listener_{std::move(path)}
{
    thread_ = std::thread{[this] { run(); }};
}

Server::~Server()
{
    stop_.set();
    thread_.join();
}

void Server::run()
{
    while (wait()) {
        // Those that were polled, at most; a new one is looked at next time.
        clients_.remove_if([this](ClientBuffer& client) {
            try {
                return !client.go_on(commands_);
            } catch (const std::exception& error) { // for want of memory
                log(Severity::warning, std::string{"a client of the control socket has to go: "} + error.what());
                return true;
            }
        });
        accept();
    }
}

bool Server::wait()
{
    std::optional<Clock::time_point> next = accepts_from_;
    descriptors_.assign({{stop_.descriptor(), POLLIN, 0}});
    if (clients_.size() < most_clients && !accepts_from_)
        descriptors_.push_back({listener_.descriptor(), POLLIN, 0});
    for (const ClientBuffer& client : clients_) {
        descriptors_.push_back({client.socket(), client.events(), 0});
        const auto at = client.has_line() ? Clock::time_point::min() : client.deadline();
        next = std::min(next.value_or(at), at);
    }
    int milliseconds = -1;
    if (next) {
        const auto now = Clock::now();
        milliseconds =
            static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(std::max(*next, now) - now).count());
    }
    ::poll(descriptors_.data(), descriptors_.size(), milliseconds);
    return !stop_.is_set();
}

void Server::accept()
{
    if (accepts_from_ && Clock::now() < *accepts_from_)
        return;
    accepts_from_.reset();
    while (clients_.size() < most_clients) {
        sockets::Listener::Accepted next = listener_.accept_now();
        if (next.has_to_wait)
            accepts_from_ = Clock::now() + until_accepting_again;
        if (!next.client)
            return;
        clients_.emplace_back(std::move(*next.client));
    }
}

} // namespace mrz::control
