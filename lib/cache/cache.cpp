// SPDX-License-Identifier: BSD-3-Clause
#include <mrzone/cache.hpp>

#include "state.hpp"

#include <utility>

namespace mrz {

// ---- Lease -------------------------------------------------------------------------------------------------------

Lease::Lease(Lease&& other) noexcept
    : holding_{other.holding_}, slot_{std::exchange(other.slot_, nullptr)}, bytes_{other.bytes_}
{
}

Lease& Lease::operator=(Lease&& other) noexcept
{
    Lease last{std::move(other)}; // and in the end what this held before, also where both are one
    std::swap(holding_, last.holding_);
    std::swap(slot_, last.slot_);
    std::swap(bytes_, last.bytes_);
    return *this;
}

void Lease::release() noexcept
{
    if (cache::Slot* const slot = std::exchange(slot_, nullptr))
        cache::let_go(*slot);
}

Iova Lease::iova() const noexcept
{
    return holding_->iova + (reinterpret_cast<std::uintptr_t>(bytes_.data()) - holding_->range.begin);
}

LKey Lease::lkey() const noexcept
{
    return holding_->lkey;
}

RKey Lease::rkey() const noexcept
{
    return holding_->rkey;
}

Access Lease::access() const noexcept
{
    return holding_->access;
}

std::span<std::byte> Lease::region_bytes() const noexcept
{
    return cache::bytes_of(holding_->range);
}

// ---- Cache -------------------------------------------------------------------------------------------------------

Cache::Cache(const Domain& domain, const CacheOptions& options)
    : state_{std::make_unique<CacheState>(domain, options)}
{
}

Cache::Cache(Cache&&) noexcept = default;

Cache& Cache::operator=(Cache&& other) noexcept
{
    Cache last{std::move(*this)};
    state_ = std::move(other.state_);
    return *this;
}

Cache::~Cache()
{
    CacheState* const state = state_.release();
    if (state == nullptr || state->forked()) // a child's copy is of no use, and what it stands for is its parent's
        return;
    state->shut();
    cache::Registry::get().orphan(*state);
}

std::vector<Lease> Cache::lease_all(std::span<const LeaseRequest> requests)
{
    return state_->lease_all(requests);
}

void Cache::invalidate(std::span<const std::byte> memory) noexcept
{
    state_->invalidate(memory);
}

void Cache::set_pending(bool pending) noexcept
{
    state_->set_pending(pending);
}

CacheSnapshot Cache::snapshot() const
{
    return state_->snapshot(state_->number());
}

std::uint64_t Cache::number() const noexcept
{
    return state_->number();
}

std::vector<Living> Cache::living()
{
    return Listed<CacheState>::living();
}

std::optional<CacheSnapshot> Cache::snapshot_of(std::uint64_t number)
{
    std::optional<CacheSnapshot> found;
    Listed<CacheState>::visit(number, [&](const CacheState& state) { found = state.snapshot(number); });
    return found;
}

Domain Cache::domain() const
{
    return state_->domain();
}

void Cache::close()
{
    state_->close();
}

} // namespace mrz
