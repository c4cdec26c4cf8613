// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Receives that were added without a word to anybody.
#include "queues/data_path.hpp"

#include <algorithm>
#include <chrono>

namespace mrz::queues {
namespace {

using namespace std::chrono_literals;

constexpr Clock::duration first_look = 1ms;
constexpr Clock::duration longest_look = 256ms;

} // namespace

void DataPath::watch(std::uint32_t qpn)
{
    watched_.try_emplace(qpn, Watch{parts_.now() + first_look, first_look});
}

// Whoever is about to wait for completions may have added receives that are to be flushed.
void DataPath::look_soon(std::uint32_t cqn)
{
    for (auto& [number, watched] : watched_) {
        if (qps_.at(number)->options.receive_cq == cqn)
            watched.next = Clock::time_point::min();
    }
}

// Peers over links do not ask again and again, so they have to be told.
void DataPath::look_at_starved()
{
    const auto first = [this] { return Watch{parts_.now() + first_look, first_look}; };
    for (const auto& [number, pair] : qps_) {
        if (!pair->has_link)
            continue;
        if (pair->receives && pair->receives->was_starved())
            watched_.insert_or_assign(number, first());
        if (!pair->options.srq)
            continue;
        const auto found = srqs_.find(*pair->options.srq);
        if (found != srqs_.end() && found->second.ring->was_starved())
            watched_srqs_.insert_or_assign(found->first, first());
    }
}

void DataPath::look_at_watched(Clock::time_point now)
{
    for (auto next = watched_.begin(); next != watched_.end();) {
        const auto at = next++;
        QueuePair& pair = *qps_.at(at->first);
        const bool failed = pair.state() == hca::QpState::err;
        if (!pair.receives || (!failed && !pair.has_link)) {
            watched_.erase(at);
        } else if (at->second.next <= now) {
            const bool more = pair.receives->has_more();
            if (more)
                parts_.engine.receives_added(*pair.engine);
            // In ERR more may be added at any time, to be flushed.
            if (more && !failed)
                watched_.erase(at);
            else
                look_later(at->second, more, now);
        }
    }
    for (auto next = watched_srqs_.begin(); next != watched_srqs_.end();) {
        const auto at = next++;
        const SharedReceives& receives = srqs_.at(at->first);
        if (at->second.next > now)
            continue;
        if (receives.ring->has_more()) {
            parts_.engine.receives_added(*receives.engine);
            watched_srqs_.erase(at);
        } else {
            look_later(at->second, false, now);
        }
    }
}

void DataPath::look_later(Watch& watched, bool found, Clock::time_point now)
{
    watched.interval = found ? first_look : std::min(2 * watched.interval, longest_look);
    watched.next = now + watched.interval;
}

} // namespace mrz::queues
