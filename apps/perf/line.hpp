// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! One connection for operations, with the memory that it has at this end.
#pragma once

#include "receiver.hpp"
#include "settings.hpp"
#include "slots.hpp"

#include <mrzone/region.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <span>

namespace mrz::perf {

struct Line {
    unsigned number = 0;                         //!< The same at both ends.
    std::span<std::byte> local = {};             //!< Of the operations that this end begins.
    std::span<std::byte> target = {};            //!< Of those that the other one begins.
    std::optional<Region> region = {};           //!< Of target.
    std::unique_ptr<Connection> connection = {}; //!< Goes before its memory.
    std::optional<RemoteRegion> remote = {};     //!< The other end's target, where operations name addresses.
    std::optional<Receiver> receiver = {};       //!< Where the other end sends.
};

//! The rights that a target needs, and no others.
Access target_access(Operation operation) noexcept;

//! Which end's line it is, in which measurement.
struct LineUse {
    const Settings& settings;
    const Step& step;
    bool server = false;

    //! Whether this end begins operations.
    [[nodiscard]] bool begins() const noexcept { return !server || settings.both_begin(); }
    //! Whether the other one does.
    [[nodiscard]] bool is_target() const noexcept { return server || settings.both_begin(); }
    [[nodiscard]] Slots slots() const noexcept
    {
        return {settings.memory, step.size,
                settings.operation == Operation::atomic ? Order::sequential : settings.order, step.seed};
    }
    //! Operations of a line under way, at most: as many as its memory has places for, and a cache room.
    [[nodiscard]] std::size_t depth() const noexcept;
};

//! The word that atomic operations begin with, and what each adds.
std::uint64_t atomic_start(std::uint64_t seed) noexcept;
inline constexpr std::uint64_t atomic_step = 0x1'0000'0001;

//! Before a measurement: fills what is to be brought, and clears what it is brought to, as far as that is looked at.
void prepare(Line& line, const LineUse& use);
//! After one in which the other end has begun \p operations: throws Error (data) unless the target is what these make
//! of it. \return how many bytes were compared.
std::uint64_t verify(const Line& line, const LineUse& use, std::uint64_t operations);

} // namespace mrz::perf
