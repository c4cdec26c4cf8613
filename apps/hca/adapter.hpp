// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! The device: an engine behind a ConnectX's firmware interface and queues, as a PCI function.
#pragma once

#include "command_events.hpp"
#include "control/commands.hpp"
#include "dma/memory.hpp"
#include "ethernet/commands.hpp"
#include "ethernet/flow_tables.hpp"
#include "fabric/fabric.hpp"
#include "firmware/firmware.hpp"
#include "pci/config_space.hpp"
#include "queues/commands.hpp"
#include "queues/data_path.hpp"
#include "queues/data_thread.hpp"
#include "queues/event_queue.hpp"
#include "queues/inbox.hpp"
#include "vfio_user/device.hpp"
#include "vfio_user/interrupts.hpp"

#include <hca/hca.hpp>

#include <cstdint>
#include <functional>
#include <mutex>
#include <span>
#include <string>
#include <vector>

namespace mrz {

struct AdapterOptions {
    firmware::Settings settings;
    hca::HcaOptions engine;         //!< Its on_event is the adapter's.
    std::vector<std::string> links; //!< Paths at which it meets other devices.
};

//! Thread-safe: what the transport calls and what the control socket asks take turns.
class Adapter final : public vfio_user::Device {
  public:
    //! \p memory and \p interrupts outlive it.
    Adapter(const AdapterOptions& options, dma::Memory& memory, vfio_user::Interrupts& interrupts);
    ~Adapter() override;

    //! Runs a change of \p memory while neither the engine nor anybody else uses it.
    void exclusively(const std::function<void()>& change);
    //! What there is to ask, and to break.
    void add_to(control::Commands& commands);

    void read_config(std::uint64_t offset, std::span<std::byte> bytes) override;
    void write_config(std::uint64_t offset, std::span<const std::byte> bytes) override;
    void read_bar(std::uint64_t offset, std::span<std::byte> bytes) override;
    void write_bar(std::uint64_t offset, std::span<const std::byte> bytes) override;
    void reset() override;

  private:
    void ring(std::uint64_t offset, std::span<const std::byte> bytes);
    void remove();
    void tell_of_port(bool up);
    void follow_bus_mastering();
    [[nodiscard]] control::Json state();

    std::mutex mutex_;
    bool removed_ = false; //!< As if it had been pulled out, until the virtual machine ends.

    dma::Memory& memory_;
    queues::Inbox inbox_;
    hca::Hca engine_;
    queues::EventQueues event_queues_;
    firmware::Firmware firmware_;
    fabric::Fabric fabric_;
    queues::DataPath path_;
    CommandEvents command_events_{event_queues_};
    queues::EventQueueCommands event_queue_commands_;
    queues::CompletionQueueCommands completion_queue_commands_;
    queues::SharedReceiveCommands shared_receive_commands_;
    queues::QueuePairCommands queue_pair_commands_;
    ethernet::SendQueueCommands send_queue_commands_;
    ethernet::ReceiveQueueCommands receive_queue_commands_;
    ethernet::FlowTables flow_tables_;
    queues::DataThread thread_;
    pci::ConfigSpace config_;
    bool reaches_memory_ = false; //!< As the configuration allowed it last.
};

} // namespace mrz
