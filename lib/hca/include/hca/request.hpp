// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! What a requester asks of a responder, and what it is told. Within an engine both are arguments of a call and bytes
//! are copied once, from piece to piece; the two types are all that a wire between engines has to carry.
#pragma once

#include <hca/scratch.hpp>
#include <hca/work.hpp>

#include <cstdint>
#include <span>

namespace mrz::hca {

class Link;

//! A whole message, or a part of a write or send that comes in several, in order.
struct Request {
    const Link* link = nullptr; //!< That it came over; null within the engine.
    SendOpcode opcode = SendOpcode::send;
    std::uint32_t source_qpn = 0;
    std::uint32_t destination_qpn = 0;
    std::uint32_t qkey = 0;          //!< UD,
    std::span<const Piece> grh = {}; //!< with 40 bytes, or none,
    std::uint16_t source_lid = 0;    //!< and where it comes from.
    Iova remote_address = {};
    RKey rkey = {};
    std::uint64_t length = 0; //!< Bytes of the whole payload, or to be read.
    std::uint64_t offset = 0; //!< Where in it \p payload begins,
    std::uint64_t part = 0;   //!< and how many bytes it has; 0 where there is none.
    std::uint32_t immediate = 0;
    bool solicited = false;
    std::uint64_t compare_add = 0;
    std::uint64_t swap = 0;
    std::span<const Piece> payload = {};

    [[nodiscard]] bool begins() const noexcept { return offset == 0; }
    [[nodiscard]] bool ends() const noexcept { return brings_back(opcode) || offset + part == length; }
};

enum class Answer : std::uint8_t {
    done,               //!< ACK, or the datagram is on its way.
    receiver_not_ready, //!< NAK: no receive is posted.
    invalid_request,    //!< NAK.
    access_error,       //!< NAK.
    operation_error,    //!< NAK.
    not_yet,            //!< No answer: the queue pair is there, but not ready to receive.
    nobody,             //!< No answer, nor will there be one.
};

struct Response {
    Answer answer = Answer::done;
    std::uint8_t rnr_timer = 0;          //!< With receiver_not_ready, encoded as min_rnr_timer.
    std::uint64_t original = 0;          //!< Atomic operations: what was there.
    std::span<const Piece> payload = {}; //!< Reads: the responder's memory.
};

} // namespace mrz::hca
