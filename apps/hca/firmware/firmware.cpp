// SPDX-License-Identifier: BSD-3-Clause
#include "firmware/firmware.hpp"

#include "firmware/queue_counters.hpp"

#include <memory>
#include <string>
#include <utility>

namespace mrz::firmware {

Firmware::Firmware(hca::Hca& engine, dma::Bus& bus, Settings settings)
    : settings_{std::move(settings)}, context_{engine, bus, objects_, settings_}, capabilities_{context_},
      domains_{context_}, umems_{context_}, keys_{context_}, port_{context_}, life_{context_,
                                                                                    [this] { keys_.begin(); },
                                                                                    [this] {
                                                                                        objects_.clear();
                                                                                        keys_.end();
                                                                                    }},
      segment_{{.doorbell =
                    [this](DmaAddress queue, std::uint32_t slots) {
                        if (queue_ != nullptr)
                            queue_->ring(queue, slots);
                    },
                .turn_off = [this] { turn_off(); }}}
{
    commands_.set_gate([this](const Handler& handler, const Command& command) { check(handler, command); });
    life_.add_to(commands_);
    capabilities_.add_to(commands_);
    domains_.add_to(commands_);
    umems_.add_to(commands_);
    keys_.add_to(commands_);
    port_.add_to(commands_);
    add_queue_counters(commands_, context_);
}

Firmware::~Firmware()
{
    queue_.reset();
    objects_.clear();
    keys_.end();
}

void Firmware::start(CommandEvents* events)
{
    queue_ = std::make_unique<CommandQueue>(context_.bus, commands_, events, InitializationSegment::log_stride);
}

void Firmware::reset()
{
    turn_off();
    segment_.reset();
}

void Firmware::turn_off()
{
    if (queue_ != nullptr)
        queue_->drop();
    objects_.clear();
    keys_.end();
    life_.reset();
    capabilities_.reset();
    port_.reset();
}

void Firmware::set_fault(std::uint16_t opcode, std::optional<CommandFault> fault)
{
    const std::lock_guard lock{faults_mutex_};
    if (fault && fault->times != std::optional<std::uint64_t>{0})
        faults_[opcode] = *fault;
    else
        faults_.erase(opcode);
}

void Firmware::wait()
{
    if (queue_ != nullptr)
        queue_->wait();
}

void Firmware::between_commands(const std::function<void()>& look)
{
    if (queue_ != nullptr)
        queue_->between(look);
    else
        look();
}

void Firmware::check(const Handler& handler, const Command& command)
{
    CommandCount& count = counts_[handler.opcode];
    count.name = handler.name;
    ++count.times;
    count.bytes += command.in.size();
    life_.check(handler);
    domains_.check_user(command);
    inject_fault(handler);
}

void Firmware::inject_fault(const Handler& handler)
{
    const std::lock_guard lock{faults_mutex_};
    const auto found = faults_.find(handler.opcode);
    if (found == faults_.end())
        return;
    const CommandFault fault = found->second;
    if (found->second.times && --*found->second.times == 0)
        faults_.erase(found);
    throw Refusal{fault.status, fault.syndrome, "it was told to fail"};
}

} // namespace mrz::firmware
