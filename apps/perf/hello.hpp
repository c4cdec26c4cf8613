// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! What a connection is for: its private data.
#pragma once

#include <mrzone/device.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace mrz::perf {

//! The version of all that the two ends say to each other. Another one is refused.
inline constexpr std::uint8_t protocol = 1;

struct Hello {
    enum class Role : std::uint8_t {
        control = 1, //!< Settings and results.
        data = 2,    //!< Operations of one stream of a session.
    };
    Role role = Role::control;
    std::uint16_t stream = 0;
    std::uint64_t session = 0; //!< That the server has given a number which nobody else knows; 0 for control.

    static constexpr std::size_t packed_size = 16;
    //! In network byte order: magic "mrzp", version u8, role u8, stream u16, session u64.
    [[nodiscard]] std::array<std::byte, packed_size> pack() const noexcept;
    //! \p bytes may be longer. Throws Error (peer, EPROTO), in so few words that they fit a refusal.
    static Hello unpack(std::span<const std::byte> bytes);
};

//! One that nobody else knows; whole numbers of up to 63 bits are what any JSON reader takes.
std::uint64_t secret_number();

} // namespace mrz::perf
