// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! A run of mrz-testpmd: its ports, their memory, and what the prompt's verbs do to them.
#pragma once

#include "forward_counts.hpp"
#include "forwarding.hpp"
#include "options.hpp"
#include "packet_memory.hpp"
#include "port.hpp"

#include <rte_ethdev.h>

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mrz::testpmd {

//! Used by the main thread alone. Made after the EAL's start, destroyed before its end; the ports are closed then.
//! Whatever is refused throws Error, and nothing has changed; where one of all ports is refused, those before it
//! have.
class Session {
  public:
    //! Takes all ports of the EAL, gives them their pool, maps the arena for those whose devices need it, starts
    //! them.
    explicit Session(const Options& options);
    ~Session();
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;

    void start_forwarding(unsigned bursts_first = 0);
    //! Does nothing where nothing forwards.
    void stop_forwarding();

    //! None: all. Refused while forwarding (busy).
    void start_ports(std::optional<std::uint16_t> port = {});
    void stop_ports(std::optional<std::uint16_t> port = {});
    void close_ports(std::optional<std::uint16_t> port = {});

    //! These count from the next start of forwarding.
    void set_engine(std::string_view name);
    void set_burst(std::uint16_t burst);
    void set_shape(const PacketShape& shape);

    //! \return the ports whose devices did so; others cannot.
    std::vector<std::uint16_t> clear_port_stats(std::optional<std::uint16_t> port = {});
    std::vector<std::uint16_t> clear_port_xstats(std::optional<std::uint16_t> port = {});
    //! From now on forward_counts() counts from zero.
    void clear_forward_stats();

    //! Whether what is behind some port was taken away; to be asked about once a second.
    [[nodiscard]] bool any_vanished() const;
    //! Closes such ports, says so, and goes on forwarding, counting anew, with those that are left, if any is.
    void drop_vanished();

    [[nodiscard]] const ForwardOptions& forward_options() const noexcept { return forward_; }
    [[nodiscard]] const Forwarding& forwarding() const noexcept { return forwarding_; }
    //! Who would forward what if it started now. Throws Error: as assign().
    [[nodiscard]] Assignment next_assignment() const;
    [[nodiscard]] std::span<const Port> ports() const noexcept { return ports_; }
    //! Throws Error (invalid, ENODEV) naming the ports there are.
    [[nodiscard]] const Port& port(std::uint16_t id) const;
    [[nodiscard]] PacketMemory& memory() noexcept { return memory_; }

    //! The counts of forwarding().streams() since they were cleared.
    [[nodiscard]] std::vector<ForwardCounts> forward_counts() const;

    //! What a port's device lost on receiving, since the same moment as forward_counts(). Zero if it does not tell.
    struct Losses {
        std::uint64_t missed = 0;    //!< Packets for which its queues had no room.
        std::uint64_t errors = 0;    //!< Packets with errors.
        std::uint64_t no_buffer = 0; //!< Times that the pool was empty.
    };
    [[nodiscard]] Losses losses(std::uint16_t port) const;

  private:
    Session(const Options& options, const std::vector<PortDevice>& devices);
    void start_forwarding(const ForwardOptions& options, unsigned bursts_first);
    void check_shape(const PacketShape& shape) const;
    void refuse_while_forwarding(std::string_view what) const;
    std::vector<Port*> chosen(std::optional<std::uint16_t> port);
    [[nodiscard]] std::vector<ForwardCounts> totals() const;
    [[nodiscard]] std::map<std::uint16_t, Losses> all_losses() const;

    PacketMemory memory_;
    std::vector<Port> ports_;
    ForwardOptions forward_; //!< For the next start.
    ForwardOptions running_; //!< Of the last one.
    Forwarding forwarding_;
    std::uint16_t buffer_size_;
    std::vector<ForwardCounts> cleared_;          //!< What the counters were then.
    std::map<std::uint16_t, Losses> lost_before_; //!< By then.
};

} // namespace mrz::testpmd
