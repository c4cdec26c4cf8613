// SPDX-License-Identifier: BSD-3-Clause
#include "queues/completion_ring.hpp"

#include "layouts/doorbells.hpp"
#include "queues/endian.hpp"

#include <mrzone/base.hpp>

#include <algorithm>
#include <utility>

namespace mrz::queues {

CompletionRing::CompletionRing(dma::Bus& bus, std::uint32_t number, CompletionRingOptions options)
    : bus_{bus}, number_{number}, options_{std::move(options)}
{
}

std::uint32_t CompletionRing::consumer_index()
{
    if (const auto word = dma::load32(bus_, options_.record + layouts::cq_record_consumer_index))
        consumer_ = from_big(*word) & index_mask;
    return consumer_;
}

bool CompletionRing::is_full()
{
    const auto waiting = [this] { return (producer_ - consumer_) & index_mask; };
    if (waiting() < size())
        return false;
    consumer_index();
    return waiting() >= size();
}

bool CompletionRing::store(Cqe entry)
{
    const CompletionMemory& memory = options_.memory;
    const std::uint64_t end = (std::uint64_t{producer_ & (size() - 1)} + 1) << memory.log_entry;
    const std::uint64_t at = end - entry.size();
    const auto owner_at = memory.pages.address(end - 1);
    layouts::set(entry, layouts::cqe64::owner, (producer_ & size()) != 0);
    // The last byte makes the entry the guest's.
    if (!owner_at || !memory.pages.write(bus_, at, std::span{entry}.first(entry.size() - 1)) ||
        !dma::store8(bus_, *owner_at, std::to_integer<std::uint8_t>(entry.back())))
        return false;
    ++producer_;
    ++since_event_;
    if (since_solicited_)
        ++*since_solicited_;
    return true;
}

CompletionRing::Written CompletionRing::write(Cqe entry, bool solicited, Clock::time_point now)
{
    if (in_error_)
        return Written::lost;
    if ((is_full() && !options_.ignore_overrun) || !store(entry)) {
        in_error_ = true;
        return Written::overrun_now;
    }
    if (solicited)
        since_solicited_ = 0;
    if (armed_ == hca::Notify::none || (armed_ == hca::Notify::solicited && !solicited))
        return Written::stored;
    const Moderation& moderation = options_.moderation;
    ++held_back_;
    if (held_back_ >= moderation.count && (moderation.count != 0 || moderation.period.count() == 0))
        fire();
    else if (!due_ && moderation.period.count() != 0)
        due_ = now + moderation.period;
    return Written::stored;
}

void CompletionRing::arm(std::uint32_t consumer_index, std::uint8_t sequence, bool solicited)
{
    if (in_error_ || fired_ == sequence)
        return;
    sequence_ = sequence;
    const hca::Notify wanted = solicited ? hca::Notify::solicited : hca::Notify::next;
    // Arming for the next stays over arming for the next solicited one.
    armed_ = std::max(armed_, wanted);
    const std::uint32_t uncounted = (producer_ - consumer_index) & index_mask;
    if (uncounted > size())
        return; // a guest that has lost count
    const std::uint64_t untold = std::min<std::uint64_t>(uncounted, since_event_);
    if (armed_ == hca::Notify::next ? untold != 0 : since_solicited_ && *since_solicited_ < untold)
        fire();
}

bool CompletionRing::resize(CompletionMemory memory)
{
    if (in_error_ || is_full())
        return false;
    Cqe last{};
    layouts::set(last, layouts::cqe64::opcode, static_cast<std::uint8_t>(layouts::CqeOpcode::resize_cq));
    if (!store(last))
        return false;
    options_.memory = std::move(memory);
    return true;
}

void CompletionRing::tick(Clock::time_point now)
{
    if (due_ && *due_ <= now)
        fire();
}

void CompletionRing::fire()
{
    armed_ = hca::Notify::none;
    fired_ = sequence_;
    held_back_ = 0;
    since_event_ = 0;
    due_.reset();
    if (!options_.eq)
        return;
    std::array<std::byte, layouts::eqe_comp::bytes> data{};
    layouts::set(data, layouts::eqe_comp::cqn, number_);
    options_.eq->post(layouts::EventType::completion, 0, data);
}

} // namespace mrz::queues
