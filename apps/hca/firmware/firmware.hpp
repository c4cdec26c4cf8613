// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! The firmware: all its parts, and the way in.
#pragma once

#include "firmware/capabilities.hpp"
#include "firmware/command_queue.hpp"
#include "firmware/context.hpp"
#include "firmware/domains.hpp"
#include "firmware/initialization_segment.hpp"
#include "firmware/life.hpp"
#include "firmware/memory_keys.hpp"
#include "firmware/port.hpp"
#include "firmware/umems.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string_view>

namespace mrz::firmware {

//! A command that is made to fail.
struct CommandFault {
    Status status = Status::internal_error;
    std::uint32_t syndrome = 0;
    std::optional<std::uint64_t> times = {}; //!< None: until it is taken back.
};

//! Commands of one kind that came to their handler, or to a fault in its place.
struct CommandCount {
    std::string_view name;
    std::uint64_t times = 0;
    std::uint64_t bytes = 0; //!< Of their inputs.
};

//! Made, then given the handlers of others (commands()), then started. read(), write() and reset() are for the
//! transport's thread.
class Firmware {
  public:
    //! \p engine and \p bus outlive it.
    Firmware(hca::Hca& engine, dma::Bus& bus, Settings settings);
    ~Firmware();
    Firmware(const Firmware&) = delete;
    Firmware& operator=(const Firmware&) = delete;

    [[nodiscard]] const Context& context() const noexcept { return context_; }
    [[nodiscard]] Commands& commands() noexcept { return commands_; }
    [[nodiscard]] Capabilities& capabilities() noexcept { return capabilities_; }
    [[nodiscard]] MemoryKeys& keys() noexcept { return keys_; }
    [[nodiscard]] const PortState& port() const noexcept { return port_.state(); }
    [[nodiscard]] const RoceAddresses& roce_addresses() const noexcept { return port_.roce_addresses(); }
    //! Before start().
    void set_port_hooks(PortHooks hooks) { port_.set_hooks(std::move(hooks)); }
    [[nodiscard]] const Life& life() const noexcept { return life_; }

    //! From here on commands are carried out. \p events may be null, and outlives the firmware.
    void start(CommandEvents* events);

    //! The first InitializationSegment::bytes of BAR 0.
    void read(std::uint64_t offset, std::span<std::byte> into) { segment_.read(offset, into); }
    void write(std::uint64_t offset, std::span<const std::byte> from) { segment_.write(offset, from); }
    //! As after power-on: all objects are gone, and no memory of the guest is used.
    void reset();

    //! From now on commands with \p opcode end so; none: no longer. From any thread.
    void set_fault(std::uint16_t opcode, std::optional<CommandFault> fault);
    //! Waits until every command is carried out that was rung for.
    void wait();
    //! Runs \p look between two commands, while no other begins: for whoever shows objects.
    void between_commands(const std::function<void()>& look);
    //! By opcode. Between commands.
    [[nodiscard]] const std::map<std::uint16_t, CommandCount>& counts() const noexcept { return counts_; }

  private:
    void check(const Handler& handler, const Command& command);
    void inject_fault(const Handler& handler);
    void turn_off();

    std::map<std::uint16_t, CommandCount> counts_;
    const Settings settings_;
    Objects objects_;
    const Context context_;
    Commands commands_;
    Capabilities capabilities_;
    Domains domains_;
    Umems umems_;
    MemoryKeys keys_;
    Port port_;
    Life life_;
    InitializationSegment segment_;
    std::mutex faults_mutex_;
    std::map<std::uint16_t, CommandFault> faults_;
    std::unique_ptr<CommandQueue> queue_;
};

} // namespace mrz::firmware
