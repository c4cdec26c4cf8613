// SPDX-License-Identifier: BSD-3-Clause
#include "initiator.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

namespace mrz::perf {

Error failure_of(const Completion& one)
{
    return {EIO,
            {.trouble = Trouble::peer,
             .what = "an operation of the measurement",
             .limit = "it ended with " + std::string{to_string(one.status)},
             .remedy = "see what the other end says"}};
}

Initiator::Initiator(Line& line, const LineUse& use, std::unique_ptr<app::Tier> tier)
    : line_{line}, use_{use}, slots_{use.slots()}, brought_{Pattern::brought(use.step.seed, use.server, line.number)},
      before_{Pattern::before(use.step.seed, use.server, line.number)}, tier_{std::move(tier)}, uses_(use.depth())
{
}

std::size_t Initiator::room() const noexcept
{
    const std::size_t free = uses_.size() - static_cast<std::size_t>(begun_ - completed_);
    return std::min(free, uses_.size() - static_cast<std::size_t>(begun_ % uses_.size()));
}

void Initiator::warm_up(std::size_t bytes)
{
    const std::size_t places = std::min(slots_.count(), bytes / slots_.stride());
    for (std::size_t place = 0; place < places; ++place) {
        uses_.front().memory = line_.local.subspan(place * slots_.stride(), slots_.size());
        tier_->acquire(std::span{uses_}.first(1), 0);
        tier_->release(0);
    }
    tier_->quiescent();
}

void Initiator::acquire(std::size_t count)
{
    const auto first = static_cast<std::size_t>(begun_ % uses_.size());
    const std::span<app::Use> uses = std::span{uses_}.subspan(first, count);
    for (std::size_t i = 0; i < count; ++i)
        uses[i].memory = line_.local.subspan(slots_.offset(begun_ + i), slots_.size());
    tier_->acquire(uses, first);
}

void Initiator::begin(std::size_t count, bool signaled)
{
    acquire(count);
    for (std::size_t i = 0; i < count; ++i) {
        // A full queue is emptied by completions only.
        const bool last_place = begun_ + 1 - completed_ >= uses_.size();
        post(begun_, signaled || last_place || (begun_ + 1) % use_.settings.signal_every == 0, slots_.offset(begun_));
    }
}

void Initiator::begin_counted(std::byte count)
{
    acquire(1);
    uses_[static_cast<std::size_t>(begun_ % uses_.size())].memory.back() = count;
    post(begun_, true, 0);
}

void Initiator::post(std::uint64_t number, bool signaled, std::size_t remote_offset)
{
    const app::Use& use = uses_[static_cast<std::size_t>(number % uses_.size())];
    const Settings& settings = use_.settings;
    Segment segment{use.iova, static_cast<std::uint32_t>(slots_.size()), use.lkey};
    SendRequest request{.id = number, .segments = {&segment, 1}, .signaled = signaled};
    switch (settings.operation) {
    case Operation::write:
        request.opcode = Opcode::rdma_write;
        break;
    case Operation::read:
        request.opcode = Opcode::rdma_read;
        break;
    case Operation::send:
        request.opcode = Opcode::send;
        break;
    case Operation::atomic:
        remote_offset = 0;
        request.opcode = settings.atomic == AtomicKind::fetch_and_add ? Opcode::atomic_fetch_and_add
                                                                      : Opcode::atomic_compare_and_swap;
        request.compare = atomic_start(use_.step.seed) + number * atomic_step;
        request.swap_or_add =
            settings.atomic == AtomicKind::fetch_and_add ? atomic_step : request.compare + atomic_step;
        break;
    }
    if (line_.remote) {
        request.remote_iova = line_.remote->iova + remote_offset;
        request.rkey = line_.remote->rkey;
    }
    if (slots_.size() <= settings.inline_bytes &&
        (settings.operation == Operation::write || settings.operation == Operation::send)) {
        request.inlined = true;
        segment.iova = Iova{reinterpret_cast<std::uintptr_t>(use.memory.data())};
    }
    line_.connection->queue_pair().post_send(request);
    ++begun_;
    if (signaled)
        signaled_ = begun_;
}

void Initiator::complete(const Completion& one)
{
    if (one.status != WcStatus::success)
        throw failure_of(one);
    if (one.id < completed_ || one.id >= begun_)
        throw Error{EBADMSG,
                    {.trouble = Trouble::data,
                     .what = "operations completing in their order",
                     .limit = "the number of the next is",
                     .present = one.id,
                     .need = completed_,
                     .remedy = "report it, with both command lines"}};
    for (; completed_ <= one.id; ++completed_) {
        if (use_.settings.verify)
            check(completed_);
        tier_->release(static_cast<std::size_t>(completed_ % uses_.size()));
    }
}

void Initiator::check(std::uint64_t number)
{
    const std::span<std::byte> memory = uses_[static_cast<std::size_t>(number % uses_.size())].memory;
    if (use_.settings.operation == Operation::atomic) {
        std::uint64_t found = 0;
        std::memcpy(&found, memory.data(), sizeof found);
        const std::uint64_t wanted = atomic_start(use_.step.seed) + number * atomic_step;
        if (found != wanted)
            throw Error{EBADMSG,
                        {.trouble = Trouble::data,
                         .what = "what atomic operation " + std::to_string(number) + " brought",
                         .limit = "the word",
                         .present = found,
                         .need = wanted,
                         .remedy = "report it, with both command lines"}};
    } else if (use_.settings.operation == Operation::read) {
        const std::size_t offset = slots_.offset(number);
        brought_.check(memory, offset, "that were read");
        if (use_.settings.order == Order::sequential) // else another may be under way into the same slot
            before_.fill(memory, offset);
    }
}

} // namespace mrz::perf
