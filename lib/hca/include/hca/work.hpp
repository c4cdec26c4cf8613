// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! What is posted and what comes back: work requests and completions, as verbs have them. Numbers are rdma-core's.
#pragma once

#include <hca/status.hpp>

#include <mrzone/base.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

namespace mrz::hca {

class Link;

//! A UD receive buffer begins with room for a global routing header. Where the sender gave none these bytes are left
//! as they are.
constexpr std::uint32_t grh_bytes = 40;
using Grh = std::array<std::byte, grh_bytes>;

//! A piece of the poster's memory. One of no bytes is skipped, its key unseen.
struct Sge {
    Iova address;
    std::uint32_t length = 0; //!< Bytes.
    LKey lkey;
};

//! As ibv_wr_opcode.
enum class SendOpcode : std::uint8_t {
    rdma_write = 0,
    rdma_write_with_immediate = 1,
    send = 2,
    send_with_immediate = 3,
    rdma_read = 4,
    compare_and_swap = 5,
    fetch_and_add = 6,
};
constexpr bool is_atomic(SendOpcode opcode) noexcept
{
    return opcode == SendOpcode::compare_and_swap || opcode == SendOpcode::fetch_and_add;
}
constexpr bool has_immediate(SendOpcode opcode) noexcept
{
    return opcode == SendOpcode::rdma_write_with_immediate || opcode == SendOpcode::send_with_immediate;
}
//! Whether the peer gives a posted receive for it.
constexpr bool takes_receive(SendOpcode opcode) noexcept
{
    return has_immediate(opcode) || opcode == SendOpcode::send;
}
//! Whether bytes come back into the poster's memory.
constexpr bool brings_back(SendOpcode opcode) noexcept
{
    return opcode == SendOpcode::rdma_read || is_atomic(opcode);
}
constexpr WcOpcode completion_opcode(SendOpcode opcode) noexcept
{
    switch (opcode) {
    case SendOpcode::rdma_write:
    case SendOpcode::rdma_write_with_immediate:
        return WcOpcode::rdma_write;
    case SendOpcode::rdma_read:
        return WcOpcode::rdma_read;
    case SendOpcode::compare_and_swap:
        return WcOpcode::compare_and_swap;
    case SendOpcode::fetch_and_add:
        return WcOpcode::fetch_and_add;
    case SendOpcode::send:
    case SendOpcode::send_with_immediate:
        break;
    }
    return WcOpcode::send;
}

//! As ibv_send_flags.
enum class SendFlags : std::uint8_t {
    none = 0,
    //! Begin after every earlier read and atomic operation of the queue has ended. Between two queue pairs of one
    //! engine that is so anyway: one work request ends before the next begins. Over a link several are under way.
    fence = 1 << 0,
    signaled = 1 << 1,  //!< Makes a completion even if it succeeds.
    solicited = 1 << 2, //!< The peer's completion is one that a solicited-only notification waits for.
    inline_data = 1 << 3,
};
constexpr SendFlags operator|(SendFlags a, SendFlags b) noexcept
{
    return static_cast<SendFlags>(static_cast<unsigned>(a) | static_cast<unsigned>(b));
}
constexpr bool has(SendFlags flags, SendFlags flag) noexcept
{
    return (static_cast<unsigned>(flags) & static_cast<unsigned>(flag)) != 0;
}

//! Whatever it points to is copied when it is posted.
struct SendWorkRequest {
    std::uint64_t id = 0;
    SendOpcode opcode = SendOpcode::send;
    SendFlags flags = SendFlags::none;
    std::span<const Sge> sges = {};               //!< Sent from; read and atomic operations: brought back to.
    std::span<const std::byte> inline_bytes = {}; //!< With inline_data: the payload, instead of sges.
    std::uint32_t immediate = 0;                  //!< Carried as it is, in the poster's byte order.
    Iova remote_address = {};                     //!< In the space of rkey.
    RKey rkey = {};
    std::uint64_t compare_add = 0; //!< Compare and swap: the value expected. Fetch and add: the summand.
    std::uint64_t swap = 0;
    std::shared_ptr<Link> link = {}; //!< UD: the way to the peer; none: it is in this engine.
    std::optional<Grh> grh = {};     //!< UD: the header that the receiver gets,
    std::uint16_t source_lid = 0;    //!< and what it is told of the sender.
    std::uint32_t remote_qpn = 0;    //!< UD: the address handle, which in one engine is only this,
    std::uint32_t remote_qkey = 0;   //!< and the queue key; with its top bit set the sender's own is used.
};

struct ReceiveWorkRequest {
    std::uint64_t id = 0;
    std::span<const Sge> sges = {};
};

//! As ibv_wc. If status is an error only id, status, opcode and qpn mean something.
struct Completion {
    std::uint64_t id = 0;
    WcStatus status = WcStatus::success;
    WcOpcode opcode = WcOpcode::send;
    bool has_immediate = false;
    std::uint32_t byte_length = 0; //!< UD receives: with the 40 bytes in front.
    std::uint32_t immediate = 0;
    std::uint32_t qpn = 0;
    std::uint32_t source_qpn = 0; //!< Of receives.
    std::uint16_t source_lid = 0; //!< Of UD receives,
    bool has_grh = false;         //!< and whether there is a header in front.
    bool solicited = false;       //!< Of receives: the sender asked for it.
};

} // namespace mrz::hca
