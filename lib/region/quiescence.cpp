// SPDX-License-Identifier: BSD-3-Clause
#include "quiescence.hpp"

#include <rte_config.h>
#include <rte_rcu_qsbr.h>

#include <algorithm>
#include <cstddef>
#include <new>

namespace mrz {
namespace {

constexpr std::align_val_t alignment{RTE_CACHE_LINE_SIZE};

} // namespace

void Quiescence::Free::operator()(rte_rcu_qsbr* state) const noexcept
{
    ::operator delete(state, alignment);
}

Quiescence::Quiescence(unsigned most_readers)
    : state_{static_cast<rte_rcu_qsbr*>(::operator new(rte_rcu_qsbr_get_memsize(most_readers), alignment))},
      taken_(most_readers)
{
    rte_rcu_qsbr_init(state_.get(), most_readers); // which fails for no memory and no readers only
}

std::optional<unsigned> Quiescence::enter() noexcept
{
    const auto place = std::ranges::find(taken_, false);
    if (place == taken_.end())
        return std::nullopt;
    const auto reader = static_cast<unsigned>(place - taken_.begin());
    *place = true;
    ++readers_;
    rte_rcu_qsbr_thread_register(state_.get(), reader);
    rte_rcu_qsbr_thread_online(state_.get(), reader);
    return reader;
}

void Quiescence::leave(unsigned reader) noexcept
{
    rte_rcu_qsbr_thread_offline(state_.get(), reader);
    rte_rcu_qsbr_thread_unregister(state_.get(), reader);
    taken_[reader] = false;
    --readers_;
}

void Quiescence::quiescent(unsigned reader) noexcept
{
    // An offline reader stays offline: rte_rcu_qsbr_quiescent() would bring it back by half, without the barrier.
    if (__atomic_load_n(&state_->qsbr_cnt[reader].cnt, __ATOMIC_RELAXED) != __RTE_QSBR_CNT_THR_OFFLINE)
        rte_rcu_qsbr_quiescent(state_.get(), reader);
}

void Quiescence::offline(unsigned reader) noexcept
{
    rte_rcu_qsbr_thread_offline(state_.get(), reader);
}

void Quiescence::online(unsigned reader) noexcept
{
    rte_rcu_qsbr_thread_online(state_.get(), reader);
}

std::uint64_t Quiescence::start() noexcept
{
    return rte_rcu_qsbr_start(state_.get());
}

bool Quiescence::passed(std::uint64_t token) noexcept
{
    return rte_rcu_qsbr_check(state_.get(), token, false) != 0;
}

} // namespace mrz
