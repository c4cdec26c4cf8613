// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! The one software adapter of a process: engine, bus and pins.
#pragma once

#include "bus.hpp"
#include "fork_mark.hpp"
#include "keeper.hpp"
#include "pin.hpp"

#include <hca/hca.hpp>

#include <mrzone/device.hpp>

#include <cstdint>
#include <memory>

namespace mrz::soft {

class Adapter {
  public:
    //! The adapter of this process, made anew where nobody holds one. A child of fork() has one of its own.
    static std::shared_ptr<Adapter> get();

    //! Of a made-up adapter's size.
    static hca::HcaOptions default_options();
    explicit Adapter(const hca::HcaOptions& options = default_options());

    [[nodiscard]] hca::Hca& engine() noexcept { return engine_; }
    [[nodiscard]] ProcessBus& bus() noexcept { return bus_; }
    [[nodiscard]] Pinner& pinner() noexcept { return pinner_; }
    [[nodiscard]] DmaView view() const noexcept { return view_; }
    //! Tells this adapter from those of other processes.
    [[nodiscard]] std::uint64_t token() const noexcept { return token_; }
    //! Looks after connections.
    [[nodiscard]] Keeper& keeper() noexcept { return keeper_; }
    //! False in a child of fork(), whose copy of the adapter is of no use.
    [[nodiscard]] bool is_here() const noexcept { return mark_.is_here(); }

  private:
    ForkMark mark_;
    std::uint64_t token_ = 0;
    ProcessBus bus_;
    hca::Hca engine_;
    Pinner pinner_;
    DmaView view_;
    Keeper keeper_;
};

} // namespace mrz::soft
