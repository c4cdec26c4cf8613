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
    //! Neither closed nor gone.
    [[nodiscard]] bool open() const noexcept { return state_ == State::started || state_ == State::stopped; }
    [[nodiscard]] const rte_ether_addr& address() const noexcept { return address_; }
    [[nodiscard]] rte_mempool* pool() const noexcept { return pool_; }
    [[nodiscard]] const PortOptions& options() const noexcept { return options_; } //!< As they became.
    [[nodiscard]] std::uint64_t tx_offloads() const noexcept { return tx_offloads_; }

    //! Starting what is started, and stopping what is stopped, does nothing.
    //! Throws Error: invalid (ENODEV) for a port that was closed or is gone; unsupported with the driver's errno.
    void start();
    void stop();
    void close();

    //! Whether what is behind it was taken away: the driver says so, or the interface that it stood on has no name
    //! any more. Not of ports that are closed.
    [[nodiscard]] bool vanished() const;
    //! Closes it then, and says so. Nobody may be receiving or sending.
    void close_if_vanished();

  private:
    void configure(const rte_eth_dev_info& info);
    [[nodiscard]] rte_eth_conf conf_for(const rte_eth_dev_info& info) const;
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

//! What the driver says of itself and its port. Throws Error (unsupported).
rte_eth_dev_info info_of(std::uint16_t port);
//! Descriptors of a queue: as asked for, or as the driver prefers.
std::uint16_t receive_descriptors(const rte_eth_dev_info& info, const PortOptions& options);
std::uint16_t transmit_descriptors(const rte_eth_dev_info& info, const PortOptions& options);

//! "started", "stopped", "closed", "gone".
std::string_view to_string(Port::State state) noexcept;

} // namespace mrz::testpmd
