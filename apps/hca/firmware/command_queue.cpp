// SPDX-License-Identifier: BSD-3-Clause
#include "firmware/command_queue.hpp"

#include "layouts/command.hpp"

#include <mrzone/base.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <string>

namespace mrz::firmware {

namespace {

namespace entry = layouts::cmd_queue_entry;
namespace box = layouts::cmd_if_box;
using layouts::get;
using layouts::part;

//! The shortest output that Linux asks for is of 12 bytes: mlx5_ifc.h, struct mlx5_ifc_enable_hca_out_bits.
constexpr std::uint64_t least_bytes = 8;
constexpr std::uint64_t type_pci = 0x7; // cmd.c, MLX5_PCI_CMD_XPORT
constexpr std::size_t block_bytes = box::mailbox_data.bytes;
constexpr std::size_t inline_bytes = entry::command_input_inline_data.bytes;
constexpr std::uint64_t mailbox_alignment = 512;

std::size_t blocks_of(std::size_t bytes)
{
    return bytes <= inline_bytes ? 0 : (bytes - inline_bytes + block_bytes - 1) / block_bytes;
}

DmaAddress pointer(std::span<const std::byte> from, layouts::Field high, layouts::Field low)
{
    return DmaAddress{get(from, high) << 32 | get(from, low) << (32 - low.width)};
}

} // namespace

CommandQueue::CommandQueue(dma::Bus& bus, const Commands& commands, CommandEvents* events, unsigned log_stride)
    : bus_{bus}, commands_{commands}, events_{events}, log_stride_{log_stride}, thread_{[this] { work(); }}
{
}

CommandQueue::~CommandQueue()
{
    {
        const std::lock_guard lock{mutex_};
        ends_ = true;
        pending_ = 0;
    }
    changed_.notify_all();
    thread_.join();
}

void CommandQueue::ring(DmaAddress queue, std::uint32_t slots)
{
    {
        const std::lock_guard lock{mutex_};
        queue_ = queue;
        pending_ |= slots;
    }
    changed_.notify_all();
}

void CommandQueue::drop()
{
    std::unique_lock lock{mutex_};
    pending_ = 0;
    changed_.wait(lock, [this] { return !busy_; });
}

void CommandQueue::wait()
{
    std::unique_lock lock{mutex_};
    changed_.wait(lock, [this] { return !busy_ && pending_ == 0; });
}

void CommandQueue::between(const std::function<void()>& look)
{
    std::unique_lock lock{mutex_};
    changed_.wait(lock, [this] { return !busy_; });
    look(); // the next one is begun under this lock
}

void CommandQueue::work()
{
    std::unique_lock lock{mutex_};
    for (;;) {
        changed_.wait(lock, [this] { return ends_ || pending_ != 0; });
        if (ends_)
            return;
        const auto slot = static_cast<unsigned>(std::countr_zero(pending_));
        pending_ &= pending_ - 1;
        const DmaAddress queue = queue_;
        busy_ = true;
        lock.unlock();
        carry_out(queue, slot);
        lock.lock();
        busy_ = false;
        changed_.notify_all();
    }
}

void CommandQueue::carry_out(DmaAddress queue, unsigned slot)
{
    const DmaAddress at = queue + (std::uint64_t{slot} << log_stride_);
    std::array<std::byte, entry::bytes> bytes{};
    if (!dma::read(bus_, at, bytes)) {
        log(Severity::warning,
            "no memory answers where command slot " + std::to_string(slot) + " is, at " + format_hex(at.value()));
        return;
    }
    if (get(bytes, entry::ownership) == 0) {
        log(Severity::warning, "command slot " + std::to_string(slot) + " was rung for and is the driver's");
        return;
    }
    // The event queue for ends of commands hears nothing of the command that made it: the driver is not waiting for
    // an event yet, and would count one too many.
    const bool wanted = events_ != nullptr && events_->wanted();
    Delivery delivery = Delivery::descriptor_error;
    try {
        delivery = carry_out_entry(at, bytes);
    } catch (const std::bad_alloc&) {
        delivery = Delivery::input_length_error;
    }
    if (delivery != Delivery::ok)
        log(Severity::warning, "command slot " + std::to_string(slot) + " cannot be read: delivery status " +
                                   format_hex(static_cast<std::uint64_t>(delivery)));
    // All else is there before the driver has the entry back.
    const auto status_and_owner = static_cast<std::uint8_t>(static_cast<unsigned>(delivery) << 1);
    if (!dma::store8(bus_, at + (entry::bytes - 1), status_and_owner))
        log(Severity::warning, "command slot " + std::to_string(slot) + " cannot be given back");
    if (wanted && events_->wanted())
        events_->commands_done(std::uint32_t{1} << slot);
}

Delivery CommandQueue::carry_out_entry(DmaAddress at, std::span<std::byte> bytes)
{
    const std::uint64_t token = get(bytes, entry::token);
    const std::uint64_t in_length = get(bytes, entry::input_length);
    const std::uint64_t out_length = get(bytes, entry::output_length);
    if (get(bytes, entry::type) != type_pci)
        return Delivery::descriptor_error;
    if (in_length < least_bytes || in_length > most_bytes)
        return Delivery::input_length_error;
    if (out_length < least_bytes || out_length > most_bytes)
        return Delivery::output_length_error;

    std::vector<DmaAddress> in_blocks;
    std::vector<DmaAddress> out_blocks;
    const DmaAddress in_first = pointer(bytes, entry::input_mailbox_pointer_63_32, entry::input_mailbox_pointer_31_9);
    const DmaAddress out_first =
        pointer(bytes, entry::output_mailbox_pointer_63_32, entry::output_mailbox_pointer_31_9);
    Delivery delivery = find_blocks(in_first, blocks_of(in_length), token, Delivery::input_pointer_error,
                                    Delivery::input_length_error, in_blocks);
    if (delivery == Delivery::ok)
        delivery = find_blocks(out_first, blocks_of(out_length), token, Delivery::output_pointer_error,
                               Delivery::output_length_error, out_blocks);
    if (delivery != Delivery::ok)
        return delivery;

    // What is in the entry is always whole.
    std::vector<std::byte> in(std::max(in_length, std::uint64_t{inline_bytes}));
    std::vector<std::byte> out(std::max(out_length, std::uint64_t{inline_bytes}));
    std::ranges::copy(part(bytes, entry::command_input_inline_data), in.begin());
    std::span<std::byte> rest = std::span{in}.subspan(inline_bytes);
    for (const DmaAddress block : in_blocks) {
        const std::size_t count = std::min(block_bytes, rest.size());
        if (!dma::read(bus_, block, rest.first(count)))
            return Delivery::input_pointer_error;
        rest = rest.subspan(count);
    }

    commands_.run(in, out);

    if (!dma::write(bus_, at + entry::command_output_inline_data.offset, std::span{out}.first(inline_bytes)))
        return Delivery::output_pointer_error;
    std::span<const std::byte> left = std::span{out}.subspan(inline_bytes);
    for (const DmaAddress block : out_blocks) {
        const std::size_t count = std::min(block_bytes, left.size());
        if (!dma::write(bus_, block, left.first(count)))
            return Delivery::output_pointer_error;
        left = left.subspan(count);
    }
    return Delivery::ok;
}

Delivery CommandQueue::find_blocks(DmaAddress first, std::size_t count, std::uint64_t token, Delivery pointer_error,
                                   Delivery length_error, std::vector<DmaAddress>& blocks) const
{
    blocks.reserve(count);
    DmaAddress next = first;
    std::array<std::byte, box::bytes - block_bytes> tail{};
    constexpr auto in_tail = [](layouts::Field field) {
        return layouts::Field{static_cast<std::uint16_t>(field.offset - 8 * block_bytes), field.width};
    };
    // Blocks are numbered, so a chain that comes back to itself is found at its second block.
    for (std::size_t number = 0; number < count; ++number) {
        if (next.value() == 0)
            return length_error;
        if (next.value() % mailbox_alignment != 0 || !dma::read(bus_, next + block_bytes, tail))
            return pointer_error;
        if (get(tail, in_tail(box::token)) != token)
            return Delivery::token_error;
        if (get(tail, in_tail(box::block_number)) != number)
            return Delivery::bad_block_number;
        blocks.push_back(next);
        next = pointer(tail, in_tail(box::next_pointer_63_32), in_tail(box::next_pointer_31_10));
    }
    return Delivery::ok;
}

} // namespace mrz::firmware
