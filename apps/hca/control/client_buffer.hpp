// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! A client of the control socket: what it said, and what it has not taken yet.
#pragma once

#include "control/commands.hpp"

#include <mrzone/file_descriptor.hpp>

#include <chrono>
#include <cstddef>
#include <string>

namespace mrz::control {

class ClientBuffer {
  public:
    using Clock = std::chrono::steady_clock;

    //! What is longer is answered by an error, and ends the client.
    static constexpr std::size_t longest_line = 1 << 16;

    //! \p socket does not block.
    explicit ClientBuffer(FileDescriptor socket) noexcept;

    [[nodiscard]] int socket() const noexcept { return socket_.get(); }
    //! For poll(2): it reads nothing more while an answer is not taken.
    [[nodiscard]] short events() const noexcept;
    [[nodiscard]] bool has_line() const noexcept { return out_.empty() && in_.find('\n') != std::string::npos; }
    [[nodiscard]] Clock::time_point deadline() const noexcept { return deadline_; }

    //! Does what can be done without waiting: takes what there is to take, and answers one line. False at its end.
    [[nodiscard]] bool go_on(const Commands& commands);

  private:
    [[nodiscard]] bool receive();
    [[nodiscard]] bool send();
    void answer(const Commands& commands);
    void start_waiting() noexcept;

    FileDescriptor socket_;
    std::string in_;
    std::string out_;
    std::size_t sent_ = 0; //!< Of out_.
    bool ends_ = false;    //!< Once it has taken its answer.
    Clock::time_point deadline_;
};

} // namespace mrz::control
