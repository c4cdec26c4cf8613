// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! What an entry of a send queue asks for.
#pragma once

#include "queues/peer_address.hpp"

#include <hca/work.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace mrz::queues {

//! What a queue pair is for.
enum class QpKind : std::uint8_t {
    rc,
    ud,
    umr, //!< The kernel's own, for changing keys: it has no peer.
};

//! How much of an entry its first 16 bytes say it has.
struct EntrySize {
    std::size_t bytes;    //!< 0 where it makes no sense.
    std::uint16_t blocks; //!< Of 64 bytes; at least 1.
};
EntrySize size_of_entry(std::span<const std::byte> control) noexcept;

//! An entry, decoded. It is used again and again, so that what it points to keeps its room.
struct SendEntry {
    enum class Kind : std::uint8_t { nothing, request, key_change, bad };

    Kind kind = Kind::bad;
    std::uint8_t opcode = 0; //!< As it is written.
    bool signaled = false;
    hca::SendWorkRequest request; //!< Its spans point to what follows.
    PeerAddress peer;             //!< UD.
    std::vector<hca::Sge> sges;
    std::vector<std::byte> inline_bytes;
    std::string_view why; //!< Of one that is bad.
};

//! Decodes a whole entry. What a queue pair of this kind does not do is bad.
void decode(std::span<const std::byte> entry, QpKind kind, SendEntry& decoded);

} // namespace mrz::queues
