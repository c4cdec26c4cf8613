// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! What a requester asks of a responder, and what it is told. Within an engine both are arguments of a call and bytes
//! are copied once, from piece to piece; the two types are all that a wire between engines would have to carry.
#pragma once

#include <hca/scratch.hpp>
#include <hca/work.hpp>

#include <cstdint>
#include <span>

namespace mrz::hca {

struct Request {
    SendOpcode opcode = SendOpcode::send;
    std::uint32_t source_qpn = 0;
    std::uint32_t destination_qpn = 0;
    std::uint32_t qkey = 0; //!< UD.
    Iova remote_address = {};
    RKey rkey = {};
    std::uint64_t length = 0; //!< Bytes of the payload, or to be read.
    std::uint32_t immediate = 0;
    bool solicited = false;
    std::uint64_t compare_add = 0;
    std::uint64_t swap = 0;
    std::span<const Piece> payload = {};
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
