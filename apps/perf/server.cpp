// SPDX-License-Identifier: BSD-3-Clause
#include "server.hpp"

#include "from_peer.hpp"
#include "tcp.hpp"

#include "common/output.hpp"
#include "common/signals.hpp"

#include <cerrno>
#include <chrono>
#include <deque>
#include <string_view>
#include <utility>

namespace mrz::perf {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds glance{50};

class Server {
  public:
    explicit Server(const ServerOptions& options)
        : options_{options}, domain_{Domain::open(options.device)},
          memory_{make_memory(options.memory, options.bytes)}, listener_{
                                                                   domain_.listen(options.bind + ':' + options.port)}
    {
    }

    void run()
    {
        app::say("listening on {} with device {} ({})", listener_->address(), domain_.name(), domain_.reason());
        try {
            while (true) {
                app::throw_if_interrupted();
                auto request = next_client();
                if (!request)
                    continue;
                serve(std::move(request));
                if (options_.once)
                    return;
            }
        } catch (const app::Interrupted&) {
            app::say("interrupted");
        }
    }

  private:
    using Request = std::unique_ptr<ConnectionRequest>;

    //! What it wants; nothing if it was refused.
    static std::optional<Hello> hello_of(ConnectionRequest& request)
    {
        try {
            return Hello::unpack(request.private_data());
        } catch (const Error& error) {
            app::say("refused {}: {}", request.peer(), error.what());
            request.refuse(error.cause().limit);
            return std::nullopt;
        }
    }

    Request next_client()
    {
        if (!waiting_.empty()) {
            Request request = std::move(waiting_.front());
            waiting_.pop_front();
            return request;
        }
        Request request = listener_->wait(glance);
        if (!request)
            return nullptr;
        const auto hello = hello_of(*request);
        if (!hello)
            return nullptr;
        if (hello->role != Hello::Role::control) {
            request->refuse("no such session");
            return nullptr;
        }
        return request;
    }

    void serve(Request request)
    {
        const std::string peer = request->peer();
        try {
            serve_session(*request, peer);
            app::say("{}: done", peer);
        } catch (const app::Interrupted&) {
            throw;
        } catch (const std::exception& failure) { // whatever it is, others may fare better
            if (options_.once)
                throw;
            app::say("{}: {}", peer, failure.what());
        }
    }

    void serve_session(ConnectionRequest& request, const std::string& peer)
    {
        Channel channel{domain_,
                        [&](const QueuePairOptions& queue_pair, const std::function<void(QueuePair&)>& before) {
                            return request.accept({.queue_pair = queue_pair, .timeout = options_.patience.connect},
                                                  before);
                        },
                        options_.patience};
        try {
            const Settings settings = settings_from(member(channel.wait("settings"), "settings"));
            app::say("{}: {}, {} of {} queue pairs", peer, word(settings.operation),
                     settings.latency ? "latency" : "bandwidth", settings.streams());
            if (const std::size_t needed = memory_needed(settings); needed > options_.bytes)
                throw Error{ENOMEM,
                            {.trouble = Trouble::invalid,
                             .what = "memory for a client",
                             .limit = "bytes that this server has for it",
                             .present = options_.bytes,
                             .need = needed,
                             .remedy = "start the server with more --memory, or give the client less"}};
            Lines lines{domain_, settings, true, *memory_};
            try {
                receive_lines(channel, lines);
                work(channel, settings, lines);
            } catch (const std::exception& failure) {
                channel.tell_failure(failure);
                lines.disconnect();
                throw;
            }
        } catch (const std::exception& failure) {
            channel.tell_failure(failure);
            throw;
        }
    }

    void receive_lines(Channel& channel, Lines& lines)
    {
        const std::uint64_t session = secret_number();
        channel.send("welcome",
                     {{"session", session}, {"device", domain_.name()}, {"driver", std::string{domain_.driver()}}});
        const auto deadline = Clock::now() + options_.patience.silence;
        for (std::size_t connected = 0; connected < lines.all().size();) {
            app::throw_if_interrupted();
            channel.watch();
            if (Clock::now() > deadline)
                throw Error{ETIMEDOUT,
                            {.trouble = Trouble::peer,
                             .what = "waiting for a client's connections",
                             .limit = "of them have come",
                             .present = connected,
                             .need = lines.all().size(),
                             .remedy = "look at the client"}};
            if (Request request = listener_->wait(glance))
                connected += take_line(lines, std::move(request), session) ? 1 : 0;
        }
        // In the order of the protocol: the client speaks first.
        lines.take_regions(channel.wait("regions"));
        channel.send("regions", lines.regions());
    }

    bool take_line(Lines& lines, Request request, std::uint64_t session)
    {
        const auto hello = hello_of(*request);
        if (!hello)
            return false;
        if (hello->role == Hello::Role::control) {
            constexpr std::size_t most_waiting = 16;
            if (waiting_.size() < most_waiting)
                waiting_.push_back(std::move(request));
            else
                request->refuse("busy: too many clients wait");
            return false;
        }
        if (hello->session != session || hello->stream >= lines.all().size() ||
            lines.all()[hello->stream].connection) {
            request->refuse("no such session, or line");
            return false;
        }
        lines.connect(hello->stream, [&](unsigned, const QueuePairOptions& queue_pair,
                                         const std::function<void(QueuePair&)>& before) {
            return request->accept({.queue_pair = queue_pair, .timeout = options_.patience.connect}, before);
        });
        return true;
    }

    void work(Channel& channel, const Settings& settings, Lines& lines)
    {
        const Place place{domain_, settings, lines, channel, options_.patience.silence};
        for (;;) {
            const Json message = channel.wait_any();
            const std::string kind = text_from(message, "kind");
            if (kind == "bye")
                return;
            if (kind == "step")
                run_as_server(place, step_from(message, settings));
            else if (kind == "tcp")
                tcp_as_server(channel, message, settings, lines.all(), options_.patience.silence);
            else
                refuse_message("its kind is not one that may come here");
        }
    }

    const ServerOptions& options_;
    Domain domain_;
    std::unique_ptr<app::WorkMemory> memory_;
    std::unique_ptr<Listener> listener_;
    std::deque<Request> waiting_; //!< Clients that came while another was served; go before the listener.
};

} // namespace

void serve(const ServerOptions& options)
{
    Server{options}.run();
}

} // namespace mrz::perf
