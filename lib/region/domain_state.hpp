// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! What handles of one domain share. Private to this floor.
#pragma once

#include "look_up.hpp"
#include "movable_keys.hpp"

#include <mrzone/listed.hpp>
#include <mrzone/region.hpp>

#include <array>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <unistd.h>

namespace mrz {

//! A device that was opened, and why it and no other.
struct OpenedDevice {
    std::shared_ptr<Device> device;
    std::string reason;
};
//! As Domain::open().
OpenedDevice open_device(std::string_view name, std::span<const Driver> drivers);
//! As Domain::adopt().
OpenedDevice adopt_device(ibv_pd* pd, std::span<const Driver> drivers);

class DomainState {
  public:
    explicit DomainState(OpenedDevice opened);
    ~DomainState();
    DomainState(const DomainState&) = delete;
    DomainState& operator=(const DomainState&) = delete;

    [[nodiscard]] Device& device() const noexcept { return *opened_.device; }
    [[nodiscard]] const std::string& reason() const noexcept { return opened_.reason; }
    //! For tenants only: it is there as long as one lives.
    [[nodiscard]] ProtectionDomain& domain() noexcept { return *domain_; }
    [[nodiscard]] LookUp& look_up() noexcept { return *look_up_; }
    [[nodiscard]] MovableKeys& movable_keys() noexcept { return *movable_keys_; }
    void close();
    //! \p number is its own: who comes by that may come before the constructor's end. Throws Error (unsupported,
    //! ENOTSUP) in a child made by fork.
    [[nodiscard]] DomainSnapshot snapshot(std::uint64_t number);
    [[nodiscard]] std::uint64_t number() const noexcept { return listed_.number(); }
    //! Whether this is the process that opened it. A child made by fork has a copy, but what it registered would be
    //! put into its parent's tables, and the lock may be held for ever there by a thread that the child lacks.
    [[nodiscard]] bool is_ours() const noexcept { return owner_ == ::getpid(); }
    //! Throws Error (unsupported, ENOTSUP) in a child made by fork.
    void require_ours(const std::string& what) const;

  private:
    friend class Tenant;
    const pid_t owner_ = ::getpid();
    OpenedDevice opened_;
    std::unique_ptr<ProtectionDomain> domain_;
    std::unique_ptr<LookUp> look_up_ = std::make_unique<LookUp>();
    std::unique_ptr<MovableKeys> movable_keys_ = std::make_unique<MovableKeys>();
    std::mutex mutex_;
    std::list<std::string> tenants_;         // a word on each
    std::array<TierSnapshot, 3> tiers_ = {}; // by Tier
    Listed<DomainState> listed_;
};

//! Something that lives in a domain, and so keeps it from being closed.
class Tenant {
  public:
    //! Throws Error: invalid (EBADF) if the domain is closed; unsupported (ENOTSUP) in a child made by fork.
    Tenant(std::shared_ptr<DomainState> state, std::string name);
    Tenant(const Tenant&) = delete;
    Tenant& operator=(const Tenant&) = delete;
    ~Tenant();

    //! Counts it among those of its tier, for as long as it lives. Once.
    void count(Tier tier, const TierSnapshot& counts) noexcept;
    [[nodiscard]] const std::shared_ptr<DomainState>& state() const noexcept { return state_; }

  private:
    std::shared_ptr<DomainState> state_;
    Tier tier_ = Tier::resident;
    TierSnapshot counted_ = {};
    std::list<std::string>::iterator place_;
};

} // namespace mrz
