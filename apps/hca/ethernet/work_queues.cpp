// SPDX-License-Identifier: BSD-3-Clause
#include "ethernet/work_queues.hpp"

#include "layouts/rmpc.hpp"

#include <algorithm>
#include <string>

namespace mrz::ethernet {
namespace {

using firmware::Refusal;
using firmware::Status;

constexpr std::uint64_t cyclic = 1; // MLX5_WQ_TYPE_CYCLIC

bool may_follow(State from, State to)
{
    switch (from) {
    case State::reset:
        return to == State::reset || to == State::ready;
    case State::ready:
        return true;
    case State::error:
        return to == State::error || to == State::reset;
    }
    return false;
}

} // namespace

State checked_transition(State present, std::uint64_t said, std::uint64_t wanted)
{
    const auto now = static_cast<std::uint64_t>(present);
    if (said != now)
        throw Refusal{Status::bad_res_state,
                      "the queue is in state " + std::to_string(now) + ", not in " + std::to_string(said)};
    if (wanted != static_cast<std::uint64_t>(State::reset) && wanted != static_cast<std::uint64_t>(State::ready) &&
        wanted != static_cast<std::uint64_t>(State::error))
        throw Refusal{Status::bad_param, "there is no state " + std::to_string(wanted)};
    const auto to = static_cast<State>(wanted);
    if (!may_follow(present, to))
        throw Refusal{Status::bad_res_state,
                      "state " + std::to_string(wanted) + " does not follow on " + std::to_string(now)};
    return to;
}

WorkQueueShape checked_ring(std::span<const std::byte> in, std::size_t at, unsigned least_log_stride,
                            unsigned most_log_stride, const firmware::Context& context)
{
    namespace wq = layouts::wq;
    const auto queue = in.subspan(std::min(at, in.size()));
    const std::uint64_t type = get(queue, wq::wq_type);
    if (type != cyclic)
        throw Refusal{Status::bad_param, "packets have no queues of type " + std::to_string(type)};
    if (layouts::is_set(queue, wq::wq_signature))
        throw Refusal{Status::bad_param, "this device has no signatures of work"};
    const std::uint64_t log_entries = get(queue, wq::log_wq_sz);
    const std::uint64_t log_stride = get(queue, wq::log_wq_stride);
    if (std::uint64_t{1} << log_entries > context.engine.options().queues.work_requests ||
        log_stride < least_log_stride || log_stride > most_log_stride)
        throw Refusal{Status::bad_param, "a queue of 2^" + std::to_string(log_entries) + " entries of 2^" +
                                             std::to_string(log_stride) + " bytes"};
    return {static_cast<unsigned>(log_entries), static_cast<unsigned>(log_stride)};
}

} // namespace mrz::ethernet
