// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Messages between the two ends, as JSON over sends.
#pragma once

#include "common/output.hpp"

#include <mrzone/region.hpp>

#include <chrono>
#include <cstddef>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mrz::perf {

using app::Json;

//! How long to wait for the other end.
struct Patience {
    std::chrono::milliseconds connect{10'000};
    std::chrono::milliseconds silence{30'000}; //!< It says each second that it lives.
};

//! One end of a control connection. Used by one thread, which calls poll() or wait() at least once a second.
class Channel {
  public:
    //! Makes the connection: posts its receives by \p before.
    using Make = std::function<std::unique_ptr<Connection>(const QueuePairOptions& options,
                                                           const std::function<void(QueuePair&)>& before)>;
    static constexpr std::size_t most_bytes = 32u << 10; //!< Of a message.

    //! Throws Error, and whatever \p make throws.
    Channel(const Domain& domain, const Make& make, Patience patience);
    ~Channel();

    [[nodiscard]] std::string peer() const { return connection_->peer(); }

    //! An object with a member "kind", which the other end takes before this returns. Throws Error (peer) if it does
    //! not.
    void send(std::string_view kind, Json message = Json::object());
    //! The next message that is there, of kind \p wanted; nothing if there is none yet. Throws Error (peer): what the
    //! other end says that went wrong, or that it is gone, or silent, or says something else.
    std::optional<Json> poll(std::string_view wanted);
    //! As poll(), but waits as long as the other end lives. Throws app::Interrupted, too.
    Json wait(std::string_view wanted);
    //! As wait(), for a message of any kind.
    Json wait_any();
    //! Says that this end lives, and throws what poll() does: while nothing is to come.
    void watch();
    //! Tells the other end why this one gives up, if it can still be told. Not twice.
    void tell_failure(const std::exception& failure) noexcept;
    //! What the other end says that went wrong, if it does within \p most: which is the reason for what one sees.
    void throw_if_told(std::chrono::milliseconds most);

  private:
    using Clock = std::chrono::steady_clock;

    [[nodiscard]] std::span<std::byte> buffer(std::size_t number) noexcept;
    void post_receive(QueuePair& queue_pair, std::size_t number);
    void transmit(const std::string& text, std::chrono::milliseconds most);
    //! Takes what has completed.
    void pump();
    //! poll(), for any kind.
    std::optional<Json> next();
    void take(std::string_view text);
    void throw_if_lost() const;
    void say_alive();

    Patience patience_;
    std::vector<std::byte> memory_;
    std::optional<Region> region_;
    std::unique_ptr<Connection> connection_; // goes before its memory
    bool sending_ = false;
    bool told_ = false;
    std::deque<Json> received_;
    std::optional<Error> failure_; //!< The other end's.
    std::string gone_;             //!< How that is known; empty while it is there.
    Clock::time_point heard_ = Clock::now();
    Clock::time_point spoken_ = Clock::now();
};

} // namespace mrz::perf
