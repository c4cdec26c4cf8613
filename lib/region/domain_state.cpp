// SPDX-License-Identifier: BSD-3-Clause
#include "domain_state.hpp"

#include <cerrno>
#include <utility>

namespace mrz {

namespace {

//! Calls change(sum, part) for each count.
template <class Change>
void change_all(TierSnapshot& sum, const TierSnapshot& part, Change change) noexcept
{
    for (const auto member : {&TierSnapshot::regions, &TierSnapshot::bytes, &TierSnapshot::pinned_bytes,
                              &TierSnapshot::keys, &TierSnapshot::mtt_entries, &TierSnapshot::indirect_entries})
        change(sum.*member, part.*member);
}

} // namespace

DomainState::DomainState(OpenedDevice opened)
    : opened_{std::move(opened)}, domain_{opened_.device->allocate_domain()}, listed_{*this, opened_.device->name()}
{
}

DomainState::~DomainState()
{
    listed_.end();
    // A copy that a child made by fork has may be one that another thread was about to change.
    if (!is_ours()) {
        static_cast<void>(look_up_.release());
        static_cast<void>(movable_keys_.release());
    }
}

void DomainState::require_ours(const std::string& what) const
{
    if (!is_ours())
        throw Error{ENOTSUP,
                    {.trouble = Trouble::unsupported,
                     .what = what,
                     .limit = "the domain belongs to process " + std::to_string(owner_) + ", which forked this one",
                     .remedy = "open another here"}};
}

void DomainState::close()
{
    static constexpr std::size_t most_names = 8;
    require_ours("closing a domain of " + opened_.device->name());
    const std::scoped_lock guard{mutex_};
    if (tenants_.empty()) {
        domain_.reset();
        return;
    }
    std::string names;
    std::size_t named = 0;
    for (const std::string& tenant : tenants_) {
        if (named == most_names) {
            names += ", and " + std::to_string(tenants_.size() - named) + " more";
            break;
        }
        names += (named++ == 0 ? "" : ", ") + tenant;
    }
    throw Error{EBUSY,
                {.trouble = Trouble::busy,
                 .what = "closing a domain of " + opened_.device->name(),
                 .limit = "number of what lives in it (" + names + ")",
                 .present = tenants_.size(),
                 .need = 0,
                 .remedy = "destroy them first"}};
}

DomainSnapshot DomainState::snapshot(std::uint64_t number)
{
    require_ours("counting what is registered in a domain of " + opened_.device->name());
    const Device& device = *opened_.device;
    DomainSnapshot now{.number = number,
                       .device = device.name(),
                       .driver = std::string{device.driver()},
                       .numa_node = device.numa_node(),
                       .movable_keys = movable_keys_->count(),
                       .look_up = look_up_->snapshot(),
                       .device_caches = device.cache_counters()};
    const std::scoped_lock guard{mutex_};
    now.closed = domain_ == nullptr;
    now.arena = tiers_[static_cast<std::size_t>(Tier::arena)];
    now.resident = tiers_[static_cast<std::size_t>(Tier::resident)];
    now.temporary = tiers_[static_cast<std::size_t>(Tier::temporary)];
    return now;
}

Tenant::Tenant(std::shared_ptr<DomainState> state, std::string name) : state_{std::move(state)}
{
    state_->require_ours("making a " + name);
    const std::scoped_lock guard{state_->mutex_};
    if (!state_->domain_)
        throw Error{EBADF,
                    {.trouble = Trouble::invalid,
                     .what = "making a " + name,
                     .limit = "the domain was closed",
                     .remedy = "open another"}};
    place_ = state_->tenants_.insert(state_->tenants_.end(), std::move(name));
}

void Tenant::count(Tier tier, const TierSnapshot& counts) noexcept
{
    tier_ = tier;
    counted_ = counts;
    const std::scoped_lock guard{state_->mutex_};
    change_all(state_->tiers_[static_cast<std::size_t>(tier)], counts,
               [](std::uint64_t& sum, std::uint64_t part) { sum += part; });
}

Tenant::~Tenant()
{
    if (!state_->is_ours())
        return;
    const std::scoped_lock guard{state_->mutex_};
    state_->tenants_.erase(place_);
    change_all(state_->tiers_[static_cast<std::size_t>(tier_)], counted_,
               [](std::uint64_t& sum, std::uint64_t part) { sum -= part; });
}

} // namespace mrz
