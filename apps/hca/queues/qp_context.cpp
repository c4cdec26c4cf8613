// SPDX-License-Identifier: BSD-3-Clause
#include "queues/qp_context.hpp"

#include "firmware/command.hpp"
#include "layouts/qpc.hpp"

#include <mrzone/base.hpp>

#include <algorithm>
#include <array>
#include <string>

namespace mrz::queues {
namespace {

using firmware::Refusal;
using firmware::Status;
using hca::QpState;
using layouts::Field;
using layouts::get;
using layouts::is_set;
using layouts::part;
using layouts::set;
namespace qpc = layouts::qpc;
namespace ads = layouts::ads;

constexpr std::uint16_t rst2init = 0x502;
constexpr std::uint16_t init2rtr = 0x503;
constexpr std::uint16_t rtr2rts = 0x504;

constexpr std::array all_transitions = {
    Transition{rst2init, "RST2INIT_QP", QpState::reset, QpState::init},
    Transition{init2rtr, "INIT2RTR_QP", QpState::init, QpState::rtr},
    Transition{rtr2rts, "RTR2RTS_QP", QpState::rtr, QpState::rts},
    Transition{0x505, "RTS2RTS_QP", QpState::rts, QpState::rts},
    Transition{0x506, "SQERR2RTS_QP", QpState::sqe, QpState::rts},
    Transition{0x50c, "SQD_RTS_QP", QpState::sqd, QpState::rts},
    Transition{0x50e, "INIT2INIT_QP", QpState::init, QpState::init},
};

// MLX5_QP_OPTPAR_… of Linux's include/linux/mlx5/qp.h.
namespace option {
constexpr std::uint32_t rre = 1U << 1;
constexpr std::uint32_t rae = 1U << 2;
constexpr std::uint32_t rwe = 1U << 3;
constexpr std::uint32_t pkey_index = 1U << 4;
constexpr std::uint32_t q_key = 1U << 5;
constexpr std::uint32_t rnr_timeout = 1U << 6;
constexpr std::uint32_t primary_addr_path = 1U << 7;
constexpr std::uint32_t sra_max = 1U << 8;
constexpr std::uint32_t rra_max = 1U << 9;
constexpr std::uint32_t pm_state = 1U << 10;
constexpr std::uint32_t retry_count = 1U << 12;
constexpr std::uint32_t rnr_retry = 1U << 13;
constexpr std::uint32_t ack_timeout = 1U << 14;
constexpr std::uint32_t lag_tx_aff = 1U << 15;
constexpr std::uint32_t pri_port = 1U << 16;
constexpr std::uint32_t counter_set_id = 1U << 25;
constexpr std::uint32_t access = rre | rae | rwe;
// Alternate paths, other queues than it was made with, and dynamically connected transport are not modelled.
constexpr std::uint32_t always =
    access | pkey_index | q_key | rnr_timeout | pm_state | lag_tx_aff | pri_port | counter_set_id;
// Of a queue pair that is not in use yet.
constexpr std::uint32_t of_connecting = primary_addr_path | sra_max | rra_max | retry_count | rnr_retry | ack_timeout;
} // namespace option

// Which fields a context's change carries: always with one of the commands, or with an option.
struct Kept {
    Field field;
    std::uint16_t always; // an opcode, or 0
    std::uint32_t options;
};
constexpr Field in_path(Field field)
{
    return layouts::inside(qpc::primary_address_path, field);
}
constexpr std::array kept_fields = {
    Kept{qpc::pm_state, rst2init, option::pm_state},
    Kept{qpc::rre, rst2init, option::rre},
    Kept{qpc::rwe, rst2init, option::rwe},
    Kept{qpc::rae, rst2init, option::rae},
    Kept{qpc::atomic_mode, rst2init, option::rae},
    Kept{qpc::q_key, rst2init, option::q_key},
    Kept{qpc::counter_set_id, rst2init, option::counter_set_id},
    Kept{in_path(ads::pkey_index), rst2init, option::pkey_index},
    Kept{in_path(ads::vhca_port_num), rst2init, option::pri_port},
    Kept{qpc::mtu, init2rtr, 0},
    Kept{qpc::log_msg_max, init2rtr, 0},
    Kept{qpc::remote_qpn, init2rtr, 0},
    Kept{qpc::next_rcv_psn, init2rtr, 0},
    Kept{qpc::log_rra_max, init2rtr, option::rra_max},
    Kept{qpc::min_rnr_nak, init2rtr, option::rnr_timeout},
    Kept{in_path(ads::grh), init2rtr, option::primary_addr_path},
    Kept{in_path(ads::mlid), init2rtr, option::primary_addr_path},
    Kept{in_path(ads::rlid), init2rtr, option::primary_addr_path},
    Kept{in_path(ads::src_addr_index), init2rtr, option::primary_addr_path},
    Kept{in_path(ads::stat_rate), init2rtr, option::primary_addr_path},
    Kept{in_path(ads::hop_limit), init2rtr, option::primary_addr_path},
    Kept{in_path(ads::tclass), init2rtr, option::primary_addr_path},
    Kept{in_path(ads::flow_label), init2rtr, option::primary_addr_path},
    Kept{in_path({static_cast<std::uint16_t>(ads::rgid_rip.offset * 8), 64}), init2rtr, option::primary_addr_path},
    Kept{in_path({static_cast<std::uint16_t>(ads::rgid_rip.offset * 8 + 64), 64}), init2rtr,
         option::primary_addr_path},
    Kept{in_path(ads::sl), init2rtr, option::primary_addr_path},
    Kept{in_path(ads::eth_prio), init2rtr, option::primary_addr_path},
    Kept{in_path(ads::dscp), init2rtr, option::primary_addr_path},
    Kept{in_path(ads::udp_sport), init2rtr, option::primary_addr_path},
    Kept{in_path(ads::rmac_47_32), init2rtr, option::primary_addr_path},
    Kept{in_path(ads::rmac_31_0), init2rtr, option::primary_addr_path},
    Kept{in_path(ads::ack_timeout), rtr2rts, option::ack_timeout},
    Kept{qpc::retry_count, rtr2rts, option::retry_count},
    Kept{qpc::rnr_retry, rtr2rts, option::rnr_retry},
    Kept{qpc::next_send_psn, rtr2rts, 0},
    Kept{qpc::log_sra_max, rtr2rts, option::sra_max},
};

template <class Number>
Number number(std::span<const std::byte> context, Field field)
{
    return static_cast<Number>(get(context, field));
}

hca::KeyRights access_of(std::span<const std::byte> context)
{
    hca::KeyRights rights = hca::KeyRights::none;
    if (is_set(context, qpc::rre))
        rights = rights | hca::KeyRights::remote_read;
    if (is_set(context, qpc::rwe))
        rights = rights | hca::KeyRights::remote_write;
    if (is_set(context, qpc::rae))
        rights = rights | hca::KeyRights::remote_atomic;
    return rights;
}

std::uint32_t mtu_of(std::span<const std::byte> context)
{
    // As IB_MTU_256 to IB_MTU_4096.
    const std::uint64_t encoded = get(context, qpc::mtu);
    if (encoded < 1 || encoded > 5)
        throw Refusal{Status::bad_param, "a path's MTU is encoded as 1 to 5, not as " + std::to_string(encoded)};
    return 128U << encoded;
}

void add_connection(std::uint16_t opcode, std::span<const std::byte> context, std::uint32_t mask,
                    hca::QpAttributes& attributes)
{
    if (opcode == rst2init || (mask & option::access) != 0)
        attributes.access = access_of(context);
    if (opcode == init2rtr) {
        attributes.path_mtu = mtu_of(context);
        attributes.destination_qpn = number<std::uint32_t>(context, qpc::remote_qpn);
        attributes.receive_psn = number<std::uint32_t>(context, qpc::next_rcv_psn);
        attributes.max_dest_rd_atomic = static_cast<std::uint8_t>(1U << get(context, qpc::log_rra_max));
    }
    if (opcode == init2rtr || (mask & option::rnr_timeout) != 0)
        attributes.min_rnr_timer = number<std::uint8_t>(context, qpc::min_rnr_nak);
    if (opcode == rtr2rts) {
        attributes.timeout = number<std::uint8_t>(context, in_path(ads::ack_timeout));
        attributes.retry_count = number<std::uint8_t>(context, qpc::retry_count);
        attributes.rnr_retry = number<std::uint8_t>(context, qpc::rnr_retry);
        attributes.send_psn = number<std::uint32_t>(context, qpc::next_send_psn);
        attributes.max_rd_atomic = static_cast<std::uint8_t>(1U << get(context, qpc::log_sra_max));
    }
}

void add_datagrams(std::uint16_t opcode, std::span<const std::byte> context, std::uint32_t mask,
                   hca::QpAttributes& attributes)
{
    if (opcode == rst2init || (mask & option::q_key) != 0)
        attributes.qkey = number<std::uint32_t>(context, qpc::q_key);
    if (opcode == rtr2rts)
        attributes.send_psn = number<std::uint32_t>(context, qpc::next_send_psn);
}

} // namespace

std::span<const Transition> transitions() noexcept
{
    return all_transitions;
}

const Transition* find_transition(std::uint16_t opcode) noexcept
{
    const auto* const found = std::ranges::find(all_transitions, opcode, &Transition::opcode);
    return found == all_transitions.end() ? nullptr : found;
}

std::uint8_t state_number(QpState state) noexcept
{
    switch (state) {
    case QpState::sqe:
        return 4;
    case QpState::sqd:
        return 5;
    default:
        return static_cast<std::uint8_t>(state);
    }
}

void check_options(const Transition& transition, std::uint32_t mask)
{
    const bool connects = transition.opcode <= rtr2rts;
    const std::uint32_t allowed = option::always | (connects ? option::of_connecting : 0);
    if (const std::uint32_t others = mask & ~allowed; others != 0)
        throw Refusal{Status::bad_param, std::string{transition.name} + " cannot set " + format_hex(others)};
    if ((mask & option::primary_addr_path) != 0 && transition.opcode != init2rtr)
        throw Refusal{Status::bad_param, "a queue pair's peer does not move"};
}

hca::QpAttributes attributes_of(const Transition& transition, QpKind kind, std::span<const std::byte> context,
                                std::uint32_t mask)
{
    hca::QpAttributes attributes;
    if (kind == QpKind::rc)
        add_connection(transition.opcode, context, mask, attributes);
    else if (kind == QpKind::ud)
        add_datagrams(transition.opcode, context, mask, attributes);
    return attributes;
}

void keep(const Transition& transition, std::span<const std::byte> context, std::uint32_t mask,
          std::span<std::byte> kept)
{
    for (const Kept& field : kept_fields) {
        if (field.always == transition.opcode || (field.options & mask) != 0)
            set(kept, field.field, get(context, field.field));
    }
}

PeerAddress peer_of(std::span<const std::byte> context)
{
    const auto path = part(context, qpc::primary_address_path);
    PeerAddress peer;
    peer.lid = number<std::uint16_t>(path, ads::rlid);
    peer.global = is_set(path, ads::grh);
    std::ranges::copy(part(path, ads::rgid_rip), peer.gid.begin());
    set(peer.mac, {0, 48}, get(path, ads::rmac_47_32) << 32 | get(path, ads::rmac_31_0));
    peer.source = number<std::uint8_t>(path, ads::src_addr_index);
    return peer;
}

} // namespace mrz::queues
