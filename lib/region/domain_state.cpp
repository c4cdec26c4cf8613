// SPDX-License-Identifier: BSD-3-Clause
#include "domain_state.hpp"

#include <cerrno>
#include <utility>

namespace mrz {

DomainState::DomainState(OpenedDevice opened) : opened_{std::move(opened)}, domain_{opened_.device->allocate_domain()}
{
}

DomainState::~DomainState()
{
    // A copy that a child made by fork has may be one that another thread was about to change.
    if (!is_ours())
        static_cast<void>(look_up_.release());
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
                 .limit = "in it live: " + names,
                 .present = tenants_.size(),
                 .need = 0,
                 .remedy = "destroy them first"}};
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

Tenant::~Tenant()
{
    if (!state_->is_ours())
        return;
    const std::scoped_lock guard{state_->mutex_};
    state_->tenants_.erase(place_);
}

} // namespace mrz
