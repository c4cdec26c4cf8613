// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! An Ethernet port, and the states that it goes through.
#pragma once

#include "options.hpp"

#include <rte_ethdev.h>

#include <cstdint>
#include <string>

namespace mrz::testpmd {

//! A port of DPDK that this program configured. Closed when it is destroyed. Not thread-safe.
class Port {
  public:
    enum class State {
        stopped,
        started,
        closed,
        gone, //!< What was behind it vanished; it was closed.
    };

    //! Configures the port, with its queues. Throws Error: invalid or unsupported, with the driver's errno.
    Port(std::uint16_t id, const PortOptions& options, rte_mempool* pool);
    ~Port();
    Port(Port&& other) noexcept;
    Port& operator=(Port&&) = delete;

    [[nodiscard]] std::uint16_t id() const noexcept { return id_; }
    [[nodiscard]] const std::string& driver() const noexcept { return driver_; }
    [[nodiscard]] State state() const noexcept { return state_; }
    [[nodiscard]] const rte_ether_addr& address() const noexcept { return address_; }
    [[nodiscard]] rte_mempool* pool() const noexcept { return pool_; }
    [[nodiscard]] const PortOptions& options() const noexcept { return options_; } //!< As they became.
    [[nodiscard]] std::uint64_t tx_offloads() const noexcept { return tx_offloads_; }

    //! Starting what is started, and stopping what is stopped, does nothing.
    //! Throws Error: invalid (ENODEV) for a port that was closed or is gone; unsupported with the driver's errno.
    void start();
    void stop();
    void close();

    //! Whether what is behind it vanished: the driver says so, or the interface that it stood on has no name any
    //! more. Closes it then, once.
    bool look_whether_gone();

  private:
    void shut(State state);

    std::uint16_t id_;
    PortOptions options_;
    rte_mempool* pool_;
    std::string driver_;
    unsigned interface_ = 0; //!< The kernel's index; 0: none.
    rte_ether_addr address_ = {};
    std::uint64_t tx_offloads_ = 0;
    State state_ = State::stopped;
};

//! "started", "stopped", "closed", "gone".
std::string_view to_string(Port::State state) noexcept;

} // namespace mrz::testpmd
