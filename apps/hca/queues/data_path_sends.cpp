// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! From entries of send queues to the engine's work.
#include "layouts/wqe.hpp"
#include "queues/completions.hpp"
#include "queues/data_path.hpp"
#include "queues/grh.hpp"
#include "queues/roce_header.hpp"

#include <mrzone/base.hpp>

#include <array>
#include <cerrno>
#include <string>

namespace mrz::queues {
namespace {

using hca::QpState;
using layouts::CqeSyndrome;

// What a turn does for one queue pair at most, but for its last entry: others, and commands, want their turn.
constexpr int most_entries = 64;
constexpr std::uint64_t most_bytes = std::uint64_t{16} << 20;

std::uint64_t bytes_of(const hca::SendWorkRequest& request)
{
    std::uint64_t bytes = request.inline_bytes.size();
    for (const hca::Sge& sge : request.sges)
        bytes += sge.length;
    return bytes;
}

} // namespace

void DataPath::pump(QueuePair& pair)
{
    if (!pair.options.send)
        return;
    std::uint64_t bytes = 0;
    for (int left = most_entries; left != 0 && bytes < most_bytes; --left) {
        const QpState state = pair.state();
        if (state != QpState::rts && state != QpState::err && state != QpState::sqe)
            return;
        const auto produced = pair.options.send->produced(parts_.bus);
        if (!produced || *produced == pair.consumed)
            return;
        const auto there = static_cast<std::uint16_t>(*produced - pair.consumed);
        if (there > pair.options.send->entries()) {
            pair.consumed = *produced;
            if (state == QpState::err)
                return; // of which it was told; a guest that goes on does not fill its event queues
            log(Severity::warning, "queue pair " + std::to_string(pair.engine->number()) +
                                       " says that more is posted than its send queue holds");
            report({hca::EventType::qp_fatal, pair.engine->number()});
            fail(pair);
            return;
        }
        if (!send_next(pair, there))
            return;
        bytes += bytes_of(pair.entry.request);
    }
    again_.insert(pair.engine->number());
}

// Takes the next of the blocks that are there. False if it has to wait.
bool DataPath::send_next(QueuePair& pair, std::uint16_t there)
{
    const std::uint16_t begin = pair.consumed;
    std::array<std::byte, layouts::wqe_ctrl_seg::bytes> control{};
    bool sound = pair.options.send->read(parts_.bus, begin, control);
    const EntrySize size = size_of_entry(control);
    sound = sound && size.bytes != 0 && size.blocks <= there;
    const std::uint16_t blocks = sound ? size.blocks : std::uint16_t{1};
    SendEntry& entry = pair.entry;
    entry_.resize(sound ? size.bytes : 0);
    sound = sound && pair.options.send->read(parts_.bus, begin, entry_);
    decode(sound ? std::span<const std::byte>{entry_} : std::span<const std::byte>{}, pair.options.kind, entry);
    if (!sound)
        entry.opcode = static_cast<std::uint8_t>(layouts::get(control, layouts::wqe_ctrl_seg::opcode));

    if (pair.state() == QpState::rts && entry.kind == SendEntry::Kind::request) {
        if (post(pair, begin)) {
            pair.consumed = static_cast<std::uint16_t>(begin + blocks);
            return true;
        }
        if (entry.kind != SendEntry::Kind::bad)
            return false;
    }
    // What the engine does not do comes after all that it does, and so its completion does.
    if (!pair.sent.empty()) {
        pair.waits_for_sent = true;
        return false;
    }
    pair.consumed = static_cast<std::uint16_t>(begin + blocks);
    if (pair.state() != QpState::rts) {
        finish(pair, begin, CqeSyndrome::wr_flush);
        return true;
    }
    std::string why{entry.why};
    CqeSyndrome syndrome = CqeSyndrome::local_qp_op;
    if (entry.kind == SendEntry::Kind::key_change) {
        why = change_key(pair, entry_);
        syndrome = CqeSyndrome::mw_bind;
    }
    if (why.empty()) {
        finish(pair, begin, std::nullopt);
        return true;
    }
    log(Severity::warning, "entry " + std::to_string(begin) + " of queue pair " +
                               std::to_string(pair.engine->number()) + " (opcode " + format_hex(entry.opcode) +
                               ") fails: " + why);
    finish(pair, begin, syndrome);
    fail(pair);
    return true;
}

// False if the engine has no room for it now, or if it turned out to be bad.
bool DataPath::post(QueuePair& pair, std::uint16_t begin)
{
    SendEntry& entry = pair.entry;
    hca::SendWorkRequest& request = entry.request;
    if (pair.options.kind == QpKind::ud) {
        const Route way = route(entry.peer);
        if (!way.reachable)
            request.remote_qpn = 0; // nobody's: datagrams that do not arrive are none of the sender's affair
        request.link = way.link;
        request.source_lid = parts_.lid;
        if (way.source) {
            request.grh = make_roce_header(entry.peer, *way.source, bytes_of(request), has_immediate(request.opcode));
            request.source_lid = in_place_of_lid(*way.source);
        } else if (entry.peer.global) {
            request.grh = make_grh(entry.peer, parts_.gid, bytes_of(request), has_immediate(request.opcode));
        }
    }
    request.id = pair.next_id;
    request.flags = request.flags | hca::SendFlags::signaled;
    // The completion may be there before post_send() returns, but is looked at in a later turn.
    switch (parts_.engine.post_send(*pair.engine, request)) {
    case 0:
        pair.sent.push_back({pair.next_id++, begin, entry.opcode, entry.signaled});
        return true;
    case ENOMEM:
        pair.waits_for_sent = true;
        return false;
    default:
        entry.kind = SendEntry::Kind::bad;
        entry.why = "the engine does not do such work";
        return false;
    }
}

void DataPath::finish(QueuePair& pair, std::uint16_t begin, std::optional<CqeSyndrome> failure)
{
    const Completed completed{pair.engine->number(), pair.options.user_index, begin};
    if (failure)
        write(pair, pair.options.send_cq, send_failed(completed, pair.entry.opcode, *failure), true);
    else if (pair.entry.signaled)
        write(pair, pair.options.send_cq, send_done(completed, pair.entry.opcode, 0), false);
}

bool DataPath::read_translations(const QueuePair& pair, const hca::Sge& from, std::span<std::byte> into) const
{
    hca::Pd pd = pair.options.pd;
    if (pair.options.kind == QpKind::umr) {
        // It has no domain, and may use keys of any: umr.c, mlx5r_umr_resource_init.
        try {
            pd = parts_.engine.query_mkey(hca::Mkey{from.lkey.value}).pd;
        } catch (const Error&) {
            return false;
        }
    }
    return parts_.engine.read_local(pd, from, into, pair.options.privileged) == hca::WcStatus::success;
}

// Why it was not changed, or nothing.
std::string DataPath::change_key(const QueuePair& pair, std::span<const std::byte> bytes) const
{
    UmrEntry entry = decode_umr(bytes);
    if (!entry.why.empty())
        return std::string{entry.why};
    if (entry.source && !read_translations(pair, *entry.source, entry.translations))
        return format_size(entry.source->length) + " of translations cannot be read at " +
               format_hex(entry.source->address.value()) + " by key " + format_hex(entry.source->lkey.value);
    entry.change.translations = entry.translations;
    if (pair.options.kind != QpKind::umr) {
        entry.change.pd = pair.options.pd;
        entry.change.over_keys_only = !pair.options.privileged;
    }
    try {
        parts_.change_key(entry.change);
    } catch (const std::exception& error) {
        return error.what();
    }
    return {};
}

void DataPath::fail(QueuePair& pair)
{
    if (pair.options.kind == QpKind::umr)
        pair.own_state = QpState::err;
    else
        parts_.engine.modify_qp(*pair.engine, QpState::err);
    again_.insert(pair.engine->number());
    watch(pair.engine->number());
}

} // namespace mrz::queues
