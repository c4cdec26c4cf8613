// SPDX-License-Identifier: BSD-3-Clause
#include <hca/queue_pair.hpp>

#include "refuse.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <string>

namespace mrz::hca {
namespace {

enum : unsigned {
    access = 1 << 0,
    qkey = 1 << 1,
    path_mtu = 1 << 2,
    destination_qpn = 1 << 3,
    receive_psn = 1 << 4,
    send_psn = 1 << 5,
    max_dest_rd_atomic = 1 << 6,
    max_rd_atomic = 1 << 7,
    min_rnr_timer = 1 << 8,
    timeout = 1 << 9,
    retry_count = 1 << 10,
    rnr_retry = 1 << 11,
    sq_drained_event = 1 << 12,
    link = 1 << 13,
};
constexpr std::array<const char*, 14> attribute_names = {
    "access",           "qkey",     "path_mtu",           "destination_qpn",
    "receive_psn",      "send_psn", "max_dest_rd_atomic", "max_rd_atomic",
    "min_rnr_timer",    "timeout",  "retry_count",        "rnr_retry",
    "sq_drained_event", "link"};

unsigned present(const QpAttributes& a)
{
    unsigned mask = 0;
    const auto note = [&mask](const auto& attribute, unsigned bit) { mask |= attribute ? bit : 0; };
    note(a.access, access);
    note(a.qkey, qkey);
    note(a.path_mtu, path_mtu);
    note(a.destination_qpn, destination_qpn);
    note(a.receive_psn, receive_psn);
    note(a.send_psn, send_psn);
    note(a.max_dest_rd_atomic, max_dest_rd_atomic);
    note(a.max_rd_atomic, max_rd_atomic);
    note(a.min_rnr_timer, min_rnr_timer);
    note(a.timeout, timeout);
    note(a.retry_count, retry_count);
    note(a.rnr_retry, rnr_retry);
    note(a.sq_drained_event, sq_drained_event);
    note(a.link, link);
    return mask;
}

std::string names(unsigned mask)
{
    std::string text;
    for (; mask != 0; mask &= mask - 1) {
        if (!text.empty())
            text += ", ";
        text += attribute_names[static_cast<std::size_t>(std::countr_zero(mask))];
    }
    return text;
}

struct Transition {
    QpType type;
    QpState from;
    QpState to;
    unsigned needed;
    unsigned allowed; // besides
};

using enum QpState;
constexpr unsigned rc_tuning = timeout | retry_count | rnr_retry | max_rd_atomic | max_dest_rd_atomic;
constexpr std::array transitions = {
    Transition{QpType::rc, reset, init, access, 0},
    Transition{QpType::rc, init, init, 0, access},
    Transition{QpType::rc, init, rtr, path_mtu | destination_qpn | receive_psn | max_dest_rd_atomic | min_rnr_timer,
               access | link},
    Transition{QpType::rc, rtr, rts, timeout | retry_count | rnr_retry | send_psn | max_rd_atomic,
               access | min_rnr_timer},
    Transition{QpType::rc, rts, rts, 0, access | min_rnr_timer},
    Transition{QpType::rc, rts, sqd, 0, sq_drained_event},
    Transition{QpType::rc, sqd, sqd, 0, access | min_rnr_timer | rc_tuning},
    Transition{QpType::rc, sqd, rts, 0, access | min_rnr_timer},
    Transition{QpType::ud, reset, init, qkey, 0},
    Transition{QpType::ud, init, init, 0, qkey},
    Transition{QpType::ud, init, rtr, 0, qkey},
    Transition{QpType::ud, rtr, rts, send_psn, qkey},
    Transition{QpType::ud, rts, rts, 0, qkey},
    Transition{QpType::ud, rts, sqd, 0, sq_drained_event},
    Transition{QpType::ud, sqd, sqd, 0, qkey},
    Transition{QpType::ud, sqd, rts, 0, qkey},
    Transition{QpType::ud, sqe, rts, 0, qkey},
};

void check_most(const std::string& what, const char* name, const std::optional<std::uint8_t>& value, unsigned most)
{
    if (value && *value > most)
        refuse_invalid(what, std::string{"the largest "} + name, most, *value);
}

void check_values(const std::string& what, const QpAttributes& attributes)
{
    check_most(what, "min_rnr_timer", attributes.min_rnr_timer, 31);
    check_most(what, "timeout", attributes.timeout, 31);
    check_most(what, "retry_count", attributes.retry_count, 7);
    check_most(what, "rnr_retry", attributes.rnr_retry, 7);
    if (attributes.path_mtu &&
        (!std::has_single_bit(*attributes.path_mtu) || *attributes.path_mtu < 256 || *attributes.path_mtu > 4096))
        refuse_invalid(what, "a path's MTU is 256, 512, 1024, 2048 or 4096 bytes, not " +
                                 std::to_string(*attributes.path_mtu));
}

} // namespace

void check_transition(QpType type, QpState from, QpState to, const QpAttributes& attributes)
{
    const std::string what = "move a queue pair (" + std::string{to_string(type)} + ") from " +
                             std::string{to_string(from)} + " to " + std::string{to_string(to)};
    const unsigned given = present(attributes);
    unsigned needed = 0;
    unsigned allowed = 0;
    if (to != reset && (to != err || from == reset)) {
        const auto* const found = std::find_if(transitions.begin(), transitions.end(), [&](const Transition& t) {
            return t.type == type && t.from == from && t.to == to;
        });
        if (found == transitions.end())
            refuse_invalid(what, "there is no such transition");
        needed = found->needed;
        allowed = needed | found->allowed;
    }
    if ((given & needed) != needed)
        refuse_invalid(what, "it needs " + names(needed & ~given));
    if ((given & ~allowed) != 0)
        refuse_invalid(what, "it cannot set " + names(given & ~allowed));
    check_values(what, attributes);
}

} // namespace mrz::hca
