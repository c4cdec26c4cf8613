// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Finds the other device, again and again.
#pragma once

#include "fabric/greeting.hpp"
#include "sockets/listener.hpp"
#include "sockets/stop.hpp"

#include <hca/wire.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>

namespace mrz::fabric {

//! Joins this device with another one at a path: whoever comes first listens there, the other connects, and when
//! either goes, the one that is left waits for the next. One thread, which sleeps while the two are joined.
class Cable {
  public:
    struct Joined {
        std::unique_ptr<hca::Wire> wire;
        PortAddress peer;
    };
    //! \p joined is called by the thread. Throws Error as eventfd(2) fails, and for a path too long (EINVAL).
    Cable(std::string path, PortAddress own, std::function<void(Joined)> joined);
    ~Cable();
    Cable(const Cable&) = delete;
    Cable& operator=(const Cable&) = delete;

    [[nodiscard]] const std::string& path() const noexcept { return path_; }
    //! What was joined has ended: look for another. Thread-safe.
    void lost() const noexcept;

  private:
    void run();
    [[nodiscard]] std::optional<Joined> join();
    [[nodiscard]] std::optional<Joined> ask(FileDescriptor socket);
    [[nodiscard]] std::optional<Joined> accept();
    void wait_until_lost();
    [[nodiscard]] bool is_lost(int milliseconds) const;
    //! The next message, if it comes in time. Who speaks another language is told so.
    [[nodiscard]] Received hear(int socket, int milliseconds) const;
    //! Throws Error (busy, EADDRINUSE) if the peer could not be told from this device.
    void check(const PortAddress& peer) const;
    //! Says it, but not what it said last.
    void say(Severity severity, std::string line);

    const std::string path_;
    const PortAddress own_;
    const std::function<void(Joined)> joined_;
    const sockets::Stop stop_;
    FileDescriptor lost_;
    // Used by the thread:
    std::optional<sockets::Listener> listener_;
    std::string said_;
    std::thread thread_;
};

} // namespace mrz::fabric
