// SPDX-License-Identifier: BSD-3-Clause
#include "queues/event_queue.hpp"

#include <mrzone/base.hpp>

#include <algorithm>
#include <string>
#include <utility>

namespace mrz::queues {

using layouts::eqe::bytes;

EventQueue::EventQueue(dma::Bus& bus, vfio_user::Interrupts& interrupts, EventQueueOptions options)
    : bus_{bus}, interrupts_{interrupts}, options_{std::move(options)}
{
}

bool EventQueue::wants(layouts::EventType type) const noexcept
{
    const auto number = static_cast<unsigned>(type);
    return (options_.events[number / 64] >> (number % 64) & 1) != 0;
}

void EventQueue::post(layouts::EventType type, std::uint8_t sub_type, std::span<const std::byte> data) noexcept
{
    std::array<std::byte, bytes> entry{};
    layouts::set(entry, layouts::eqe::type, static_cast<std::uint8_t>(type));
    layouts::set(entry, layouts::eqe::sub_type, sub_type);
    const std::span<std::byte> room = layouts::part(std::span<std::byte>{entry}, layouts::eqe::data);
    std::copy_n(data.begin(), std::min(data.size(), room.size()), room.begin());

    const std::lock_guard lock{mutex_};
    const std::uint32_t size = 1U << options_.log_size;
    const std::uint64_t at = std::uint64_t{producer_ & (size - 1)} * bytes;
    const auto owner_at = options_.pages.address(at + bytes - 1);
    // The owner byte makes the entry the guest's, so it comes last.
    if (((producer_ - consumer_) & index_mask) >= size || !owner_at ||
        !options_.pages.write(bus_, at, std::span{entry}.first(bytes - 1)) ||
        !dma::store8(bus_, *owner_at, static_cast<std::uint8_t>(producer_ >> options_.log_size & 1))) {
        if (lost_++ == 0)
            log(Severity::warning, "an event queue lost an event: it is full, or its memory is gone");
        return;
    }
    ++producer_;
    if (std::exchange(armed_, false))
        interrupts_.raise(options_.vector);
}

void EventQueue::consumed(std::uint32_t consumer_index, bool arm) noexcept
{
    const std::lock_guard lock{mutex_};
    // The guest cannot have taken what is not there.
    const std::uint32_t there = (producer_ - consumer_) & index_mask;
    const std::uint32_t taken = (consumer_index - consumer_) & index_mask;
    if (taken <= there)
        consumer_ += taken;
    else
        log_once(Severity::warning, "the guest says that it took events which were not there");
    if (!arm)
        return;
    armed_ = producer_ == consumer_;
    if (!armed_)
        interrupts_.raise(options_.vector);
}

EventQueue::State EventQueue::state() const
{
    const std::lock_guard lock{mutex_};
    return {producer_ & index_mask, consumer_ & index_mask, lost_, armed_};
}

void EventQueues::add(std::shared_ptr<EventQueue> queue)
{
    const std::unique_lock lock{mutex_};
    const std::uint32_t number = queue->number();
    queues_[number] = std::move(queue);
}

void EventQueues::remove(std::uint32_t number)
{
    const std::unique_lock lock{mutex_};
    queues_.erase(number);
}

std::shared_ptr<EventQueue> EventQueues::find(std::uint32_t number) const
{
    const std::shared_lock lock{mutex_};
    const auto found = queues_.find(number);
    return found == queues_.end() ? nullptr : found->second;
}

bool EventQueues::wants(layouts::EventType type) const
{
    const std::shared_lock lock{mutex_};
    return std::ranges::any_of(queues_, [type](const auto& entry) { return entry.second->wants(type); });
}

void EventQueues::post(layouts::EventType type, std::uint8_t sub_type, std::span<const std::byte> data) const
{
    const std::shared_lock lock{mutex_};
    for (const auto& [number, queue] : queues_) {
        if (queue->wants(type))
            queue->post(type, sub_type, data);
    }
}

} // namespace mrz::queues
