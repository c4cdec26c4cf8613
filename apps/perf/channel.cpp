// SPDX-License-Identifier: BSD-3-Clause
#include "channel.hpp"

#include "from_peer.hpp"

#include "common/signals.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <thread>
#include <utility>

namespace mrz::perf {
namespace {

constexpr std::size_t receives = 8;
constexpr std::size_t send_buffer = receives; // the one after those of receives
constexpr std::size_t most_waiting = 64;      // messages that nobody has asked for
constexpr std::string_view failing = "error";
constexpr std::string_view alive = "alive";
constexpr std::chrono::seconds breath{1};
constexpr std::chrono::milliseconds pause{1};
constexpr std::chrono::microseconds moment{100};

Error lost(int error_number, std::string what, std::string limit)
{
    return {error_number,
            {.trouble = Trouble::peer,
             .what = std::move(what),
             .limit = std::move(limit),
             .remedy = "see what the other end says"}};
}

Error told(const Json& message)
{
    return {ECONNABORTED,
            {.trouble = Trouble::peer,
             .what = "the other end gave up: " + text_from(message, "what"),
             .limit = text_from(message, "limit"),
             .remedy = text_from(message, "remedy")}};
}

void must_be(const Json& message, std::string_view wanted)
{
    if (const std::string kind = text_from(message, "kind", 32); kind != wanted)
        refuse_message("it is \"" + kind + "\" where \"" + std::string{wanted} + "\" was to come");
}

//! Cut, so that it fits a message whatever it is.
std::string cut(const std::string& text)
{
    return text.substr(0, 1000);
}

} // namespace

Channel::Channel(const Domain& domain, const Make& make, Patience patience)
    : patience_{patience},
      memory_((receives + 1) * most_bytes), region_{domain.register_memory(memory_, Access::local_write,
                                                                           {.looked_up = false})}
{
    connection_ =
        make({.send_requests = 4, .receive_requests = receives, .inline_bytes = 0}, [this](QueuePair& queue_pair) {
            for (std::size_t i = 0; i < receives; ++i)
                post_receive(queue_pair, i);
        });
    heard_ = spoken_ = Clock::now();
}

Channel::~Channel() = default;

std::span<std::byte> Channel::buffer(std::size_t number) noexcept
{
    return std::span{memory_}.subspan(number * most_bytes, most_bytes);
}

void Channel::post_receive(QueuePair& queue_pair, std::size_t number)
{
    const Segment segment{region_->iova() + number * most_bytes, most_bytes, region_->lkey()};
    queue_pair.post_receive({.id = number, .segments = {&segment, 1}});
}

void Channel::transmit(const std::string& text, std::chrono::milliseconds most)
{
    if (text.size() > most_bytes)
        throw Error{EMSGSIZE,
                    {.what = "a message to the other end",
                     .limit = "bytes",
                     .present = most_bytes,
                     .need = text.size(),
                     .remedy = "use fewer queue pairs"}};
    std::memcpy(buffer(send_buffer).data(), text.data(), text.size());
    const Segment segment{region_->iova() + send_buffer * most_bytes, static_cast<std::uint32_t>(text.size()),
                          region_->lkey()};
    connection_->queue_pair().post_send({.id = send_buffer, .segments = {&segment, 1}});
    sending_ = true;
    for (const auto deadline = Clock::now() + most; sending_; std::this_thread::sleep_for(moment)) {
        pump();
        if (!sending_)
            break;
        throw_if_lost();
        if (Clock::now() > deadline)
            throw lost(ETIMEDOUT, "telling the other end something", "it is silent, and does not take it");
    }
    spoken_ = Clock::now();
}

void Channel::send(std::string_view kind, Json message)
{
    message["kind"] = kind;
    transmit(message.dump(-1, ' ', false, Json::error_handler_t::replace), patience_.silence);
}

void Channel::pump()
{
    std::array<Completion, 16> completions;
    const bool connected = connection_->connected(); // before: what it said last is there though it is gone
    const std::size_t count = connection_->queue_pair().poll(completions);
    for (const Completion& one : std::span{completions}.first(count)) {
        if (one.status == WcStatus::local_length_error)
            refuse_message("it is longer than " + std::to_string(most_bytes) + " bytes");
        if (one.status != WcStatus::success) {
            gone_ = "it is gone (" + std::string{to_string(one.status)} + ')';
        } else if (one.id == send_buffer) {
            sending_ = false;
        } else {
            take({reinterpret_cast<const char*>(buffer(one.id).data()), one.byte_length});
            if (connected && gone_.empty())
                post_receive(connection_->queue_pair(), one.id);
        }
    }
    if (!connected && count == 0 && gone_.empty())
        gone_ = "it has disconnected, or has ended";
}

void Channel::throw_if_lost() const
{
    if (failure_)
        throw Error{*failure_};
    if (!gone_.empty())
        throw lost(ECONNRESET, "talking with the other end", gone_);
}

void Channel::take(std::string_view text)
{
    heard_ = Clock::now();
    Json message = Json::parse(text, nullptr, false);
    if (message.is_discarded())
        refuse_message("it is no JSON");
    const std::string kind = text_from(message, "kind", 32);
    if (kind == alive)
        return;
    if (kind == failing) {
        failure_ = told(message);
        return;
    }
    if (received_.size() >= most_waiting)
        refuse_message("there are too many");
    received_.push_back(std::move(message));
}

void Channel::say_alive()
{
    if (Clock::now() - spoken_ > breath)
        send(alive);
}

std::optional<Json> Channel::next()
{
    pump();
    if (!received_.empty() && !failure_) {
        Json message = std::move(received_.front());
        received_.pop_front();
        return message;
    }
    throw_if_lost();
    if (Clock::now() - heard_ > patience_.silence)
        throw lost(ETIMEDOUT, "talking with the other end",
                   "it has been silent for " + std::to_string(patience_.silence.count()) + " ms");
    say_alive();
    return std::nullopt;
}

std::optional<Json> Channel::poll(std::string_view wanted)
{
    auto message = next();
    if (message)
        must_be(*message, wanted);
    return message;
}

void Channel::watch()
{
    if (next())
        refuse_message("nothing was to come");
}

Json Channel::wait(std::string_view wanted)
{
    Json message = wait_any();
    must_be(message, wanted);
    return message;
}

Json Channel::wait_any()
{
    for (;;) {
        if (auto message = next())
            return std::move(*message);
        app::throw_if_interrupted();
        app::wait_readable_or(-1, pause);
    }
}

void Channel::tell_failure(const std::exception& failure) noexcept
try {
    if (failure_ || !gone_.empty() || std::exchange(told_, true))
        return;
    Json message{{"kind", failing}, {"what", cut(failure.what())}, {"limit", ""}, {"remedy", ""}};
    if (const auto* const error = dynamic_cast<const Error*>(&failure)) {
        std::string limit = error->cause().limit;
        if (error->cause().present)
            limit += " " + std::to_string(*error->cause().present);
        if (error->cause().need)
            limit += ", needed " + std::to_string(*error->cause().need);
        message["what"] = cut(error->cause().what);
        message["limit"] = cut(limit);
        message["remedy"] = cut(error->cause().remedy);
    }
    transmit(message.dump(-1, ' ', false, Json::error_handler_t::replace), std::chrono::seconds{2});
} catch (const std::exception&) {
    // It is gone: nobody is left to be told.
}

void Channel::throw_if_told(std::chrono::milliseconds most)
{
    try {
        for (const auto deadline = Clock::now() + most; Clock::now() < deadline && !failure_ && gone_.empty();
             std::this_thread::sleep_for(pause))
            pump();
    } catch (const Error&) {
        // As the caller knows already.
    }
    if (failure_)
        throw Error{*failure_};
}

} // namespace mrz::perf
