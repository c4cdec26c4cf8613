// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! What a region is made of. Private to this floor.
#pragma once

#include "domain_state.hpp"

#include <mrzone/region.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace mrz {

//! Of what a peer is given: never the same twice.
std::uint64_t next_generation() noexcept;

struct Region::State {
    State(std::shared_ptr<DomainState> domain, std::span<std::byte> memory, Access rights);
    State(const State&) = delete;
    State& operator=(const State&) = delete;
    ~State();

    Tenant tenant; // goes after what it stands for
    std::span<std::byte> bytes;
    Access access;
    Plan plan;
    std::string remark;
    std::unique_ptr<RegisteredMemory> registered;
    std::optional<std::vector<BuiltKey>> built;
    std::uint64_t generation = next_generation();
    bool to_be_found = false;
    LookUp::Listing listing; // goes first: what is found is registered

    //! Lets snapshots count what is registered.
    void count(Tier tier) noexcept;
    //! Before anything is read of its memory: what happens to it from then on counts.
    void announce(const RegionRequest& request);
    //! Lets look-ups find what is registered.
    void list();
};

} // namespace mrz
