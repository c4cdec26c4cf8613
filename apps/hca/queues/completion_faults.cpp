// SPDX-License-Identifier: BSD-3-Clause
#include "queues/completion_faults.hpp"

namespace mrz::queues {
namespace {

// A guest that goes on does not fill this process's memory: then the first ones come earlier.
constexpr std::size_t most_waiting = std::size_t{1} << 18;

} // namespace

void CompletionFaults::set(const CompletionFault& fault)
{
    fault_ = fault;
    for (Waiting& waiting : waiting_)
        waiting.due = Clock::time_point::min();
}

void CompletionFaults::take(const Late& completion, Clock::time_point now)
{
    if (fault_.lose != 0) {
        --fault_.lose;
        ++lost_;
        return;
    }
    waiting_.push_back({now + fault_.delay, completion});
}

std::optional<CompletionFaults::Late> CompletionFaults::next(Clock::time_point now)
{
    if (waiting_.empty() || (waiting_.front().due > now && waiting_.size() <= most_waiting))
        return std::nullopt;
    const Late completion = waiting_.front().completion;
    waiting_.pop_front();
    return completion;
}

std::optional<Clock::time_point> CompletionFaults::deadline() const
{
    return waiting_.empty() ? std::nullopt : std::optional{waiting_.front().due};
}

void CompletionFaults::forget_cq(std::uint32_t cqn)
{
    std::erase_if(waiting_, [cqn](const Waiting& waiting) { return waiting.completion.cqn == cqn; });
}

void CompletionFaults::forget_qp(std::uint32_t qpn)
{
    std::erase_if(waiting_, [qpn](const Waiting& waiting) { return waiting.completion.qpn == qpn; });
}

} // namespace mrz::queues
