// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! What goes over a wire between two engines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace mrz::hca {

//! Numbers that are carried: what comes in may be any.
enum class PacketKind : std::uint8_t {
    request = 1,       //!< Begins a message: a work request, with its payload or the first part of it.
    more = 2,          //!< A further part of the payload of a write or send; `address` is the bytes before it.
    done = 3,          //!< Answers all up to `sequence`, but for reads and atomics, which are answered by themselves.
    original = 4,      //!< Answers an atomic, and what came before; `compare_add` is what was there.
    data = 5,          //!< A part of what a read asks for; `address` is the bytes before it. The last one answers it.
    refused = 6,       //!< Answers what came before with success, and `sequence` with `code`, an Answer.
    receive_ready = 7, //!< A receive was posted where one was missing.
    datagram = 8, //!< `code` is send or send_with_immediate; nobody answers. `rkey` is the queue key, `address` the
                  //!< sender's LID. What `payload` has more than `length` is a global routing header, in front.
};

//! The head of a packet, in the byte order of the machine: both engines are on one. Payload follows.
//!
//! Messages of a queue pair are numbered. A responder takes them in order and drops what it does not expect: after it
//! refused one for want of a receive, all until that one comes again.
struct Packet {
    std::uint32_t payload = 0; //!< Bytes that follow.
    std::uint8_t kind = 0;     //!< A PacketKind.
    std::uint8_t code = 0;     //!< A request's SendOpcode, a refusal's Answer.
    std::uint8_t solicited = 0;
    std::uint8_t rnr_timer = 0;
    std::uint32_t source_qpn = 0;
    std::uint32_t destination_qpn = 0;
    std::uint32_t sequence = 0; //!< Of the message.
    std::uint32_t attempt = 0;  //!< How often the requester went back before it; a refusal says it again.
    std::uint32_t rkey = 0;
    std::uint32_t immediate = 0;
    std::uint64_t address = 0; //!< A request's remote address; else how far into the message.
    std::uint64_t length = 0;  //!< A request's: bytes of the whole message.
    std::uint64_t compare_add = 0;
    std::uint64_t swap = 0;
};
static_assert(sizeof(Packet) == 64 && std::has_unique_object_representations_v<Packet>,
              "no byte of it is left as it was in memory");

//! Bytes of payload that a packet carries at most.
inline constexpr std::size_t most_payload = std::size_t{16} << 10;

} // namespace mrz::hca
