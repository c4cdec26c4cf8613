// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Queues of packets.
#include "layouts/wqe.hpp"
#include "queues/completions.hpp"
#include "queues/data_path.hpp"

#include <mrzone/base.hpp>

#include <array>
#include <cerrno>
#include <string>

namespace mrz::queues {
namespace {

using layouts::CqeSyndrome;
using layouts::EventType;
using layouts::WqeOpcode;

// As for queue pairs: others want their turn.
constexpr int most_entries = 64;
constexpr std::uint8_t send_queue_event = 2; // MLX5_EVENT_QUEUE_TYPE_SQ of Linux's include/linux/mlx5/device.h

} // namespace

void DataPath::create_packet_queue(std::uint32_t number, PacketQueueOptions options)
{
    const std::lock_guard lock{mutex_};
    static_cast<void>(cq(options.cq));
    packet_queues_[number] = PacketQueue{.options = std::move(options)};
}

void DataPath::destroy_packet_queue(std::uint32_t number)
{
    const std::lock_guard lock{mutex_};
    packet_queues_.erase(number);
    again_.erase(number);
}

void DataPath::modify_packet_queue(std::uint32_t number, PacketQueueState to)
{
    const std::lock_guard lock{mutex_};
    PacketQueue& queue = packet_queue(number);
    queue.state = to;
    if (to == PacketQueueState::reset)
        queue.consumed = 0;
    again_.insert(number);
    parts_.inbox.wake();
}

DataPath::PacketQueueInfo DataPath::query_packet_queue(std::uint32_t number)
{
    const std::lock_guard lock{mutex_};
    const PacketQueue& queue = packet_queue(number);
    return {queue.state, queue.consumed};
}

PacketQueue& DataPath::packet_queue(std::uint32_t number)
{
    const auto found = packet_queues_.find(number);
    if (found == packet_queues_.end())
        throw Error{
            ENOENT,
            {Trouble::invalid, "use queue of packets " + std::to_string(number), "there is none", {}, {}, {}}};
    return found->second;
}

void DataPath::pump(std::uint32_t number, PacketQueue& queue)
{
    for (int left = most_entries; left != 0; --left) {
        if (queue.state == PacketQueueState::reset)
            return;
        const auto produced = queue.options.ring.produced(parts_.bus);
        if (!produced || *produced == queue.consumed)
            return;
        const auto there = static_cast<std::uint16_t>(*produced - queue.consumed);
        if (there > queue.options.ring.entries()) {
            queue.consumed = *produced;
            if (queue.state == PacketQueueState::error)
                return; // as a queue pair's
            log(Severity::warning,
                "the queue of packets " + format_hex(number) + " says that more is posted than it holds");
            queue.state = PacketQueueState::error;
            report(EventType::wq_catas_error, number, send_queue_event);
            return;
        }
        send_next(number, queue, there);
    }
    again_.insert(number);
}

void DataPath::send_next(std::uint32_t number, PacketQueue& queue, std::uint16_t there)
{
    std::array<std::byte, layouts::wqe_ctrl_seg::bytes> control{};
    bool sound = queue.options.ring.read(parts_.bus, queue.consumed, control);
    const EntrySize size = size_of_entry(control);
    sound = sound && size.bytes != 0 && size.blocks <= there;
    const auto opcode = static_cast<std::uint8_t>(layouts::get(control, layouts::wqe_ctrl_seg::opcode));
    const bool signaled =
        (layouts::get(control, layouts::wqe_ctrl_seg::fm_ce_se) >> layouts::wqe_completion_shift & 2) != 0;
    const Completed completed{number, queue.options.user_index, queue.consumed};
    queue.consumed = static_cast<std::uint16_t>(queue.consumed + (sound ? size.blocks : 1));
    if (queue.state == PacketQueueState::error) {
        if (queue.options.flushes)
            store(queue.options.cq, send_failed(completed, opcode, CqeSyndrome::wr_flush), true);
        return;
    }
    const auto known = static_cast<WqeOpcode>(opcode);
    const bool packet = known == WqeOpcode::send || known == WqeOpcode::tso;
    if (sound && (packet || known == WqeOpcode::nop)) {
        packets_dropped_ += packet ? 1 : 0;
        if (signaled && !store(queue.options.cq, send_done(completed, opcode, 0), false))
            queue.state = PacketQueueState::error; // as a queue pair whose completions are lost
        return;
    }
    log(Severity::warning, "entry " + std::to_string(completed.entry) + " of the queue of packets " +
                               format_hex(number) + " (opcode " + format_hex(opcode) +
                               ") fails: " + (sound ? "such a queue does not do that" : "it makes no sense"));
    queue.state = PacketQueueState::error;
    store(queue.options.cq, send_failed(completed, opcode, CqeSyndrome::local_qp_op), true);
}

} // namespace mrz::queues
