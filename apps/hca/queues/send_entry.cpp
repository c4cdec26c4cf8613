// SPDX-License-Identifier: BSD-3-Clause
#include "queues/send_entry.hpp"

#include "layouts/wqe.hpp"

#include <algorithm>

namespace mrz::queues {
namespace {

using namespace layouts;
using hca::SendFlags;
using hca::SendOpcode;

// Reads an entry from its beginning to its end.
class Reader {
  public:
    explicit Reader(std::span<const std::byte> entry) : left_{entry} {}

    [[nodiscard]] bool empty() const noexcept { return left_.empty(); }
    [[nodiscard]] bool has(std::size_t bytes) const noexcept { return bytes <= left_.size(); }
    [[nodiscard]] std::span<const std::byte> rest() const noexcept { return left_; }
    std::span<const std::byte> take(std::size_t bytes)
    {
        const auto taken = left_.first(bytes);
        left_ = left_.subspan(bytes);
        return taken;
    }

  private:
    std::span<const std::byte> left_;
};

void refuse(SendEntry& decoded, std::string_view why)
{
    decoded.kind = SendEntry::Kind::bad;
    decoded.why = why;
}

// Whether queue pairs of the kind do it.
bool known(WqeOpcode opcode, QpKind kind, SendOpcode& as)
{
    switch (opcode) {
    case WqeOpcode::send:
        as = SendOpcode::send;
        return kind != QpKind::umr;
    case WqeOpcode::send_imm:
        as = SendOpcode::send_with_immediate;
        return kind != QpKind::umr;
    case WqeOpcode::rdma_write:
        as = SendOpcode::rdma_write;
        break;
    case WqeOpcode::rdma_write_imm:
        as = SendOpcode::rdma_write_with_immediate;
        break;
    case WqeOpcode::rdma_read:
        as = SendOpcode::rdma_read;
        break;
    case WqeOpcode::atomic_cs:
        as = SendOpcode::compare_and_swap;
        break;
    case WqeOpcode::atomic_fa:
        as = SendOpcode::fetch_and_add;
        break;
    default:
        return false;
    }
    return kind == QpKind::rc;
}

// Whether the pieces that are left make sense.
bool read_pieces(Reader& reader, SendEntry& decoded)
{
    while (!reader.empty()) {
        const std::span<const std::byte> rest = reader.rest();
        if (is_set(rest, wqe_inline_seg::is_inline)) {
            const std::size_t count = get(rest, wqe_inline_seg::byte_count);
            const std::size_t padded = (wqe_inline_seg::bytes + count + send_wqe_ds - 1) / send_wqe_ds * send_wqe_ds;
            if (!reader.has(padded))
                return false;
            const auto data = reader.take(padded).subspan(wqe_inline_seg::bytes, count);
            decoded.inline_bytes.insert(decoded.inline_bytes.end(), data.begin(), data.end());
            decoded.request.flags = decoded.request.flags | SendFlags::inline_data;
            continue;
        }
        const auto piece = reader.take(wqe_data_seg::bytes);
        const std::uint64_t count = get(piece, wqe_data_seg::byte_count);
        decoded.sges.push_back({Iova{get(piece, wqe_data_seg::addr)},
                                static_cast<std::uint32_t>(count == 0 ? most_bytes_of_a_piece : count),
                                LKey{static_cast<std::uint32_t>(get(piece, wqe_data_seg::lkey))}});
    }
    return true;
}

void read_address(std::span<const std::byte> vector, SendEntry& decoded)
{
    decoded.request.remote_qpn = static_cast<std::uint32_t>(get(vector, av::dqp_dct));
    decoded.request.remote_qkey = static_cast<std::uint32_t>(get(vector, av::qkey));
    decoded.peer = {};
    decoded.peer.lid = static_cast<std::uint16_t>(get(vector, av::rlid));
    // Over Ethernet the rest is there without that bit (rdma-core's providers/mlx5/verbs.c, mlx5_create_ah).
    decoded.peer.global = is_set(vector, av::grh);
    std::ranges::copy(part(vector, av::rgid), decoded.peer.gid.begin());
    decoded.peer.traffic_class = static_cast<std::uint8_t>(get(vector, av::tclass));
    decoded.peer.hop_limit = static_cast<std::uint8_t>(get(vector, av::hop_limit));
    decoded.peer.flow_label = static_cast<std::uint32_t>(get(vector, av::flow_label));
    std::ranges::copy(part(vector, av::rmac), decoded.peer.mac.begin());
    decoded.peer.source = static_cast<std::uint8_t>(get(vector, av::src_addr_index));
}

void read_request(Reader& reader, QpKind kind, SendOpcode opcode, SendEntry& decoded)
{
    hca::SendWorkRequest& request = decoded.request;
    request.opcode = opcode;
    if (kind == QpKind::ud) {
        const std::size_t base = wqe_data_seg::bytes;
        if (!reader.has(base))
            return refuse(decoded, "there is no address in it");
        const std::size_t length = is_set(reader.rest(), av::extended) ? av::bytes : base;
        if (!reader.has(length))
            return refuse(decoded, "its address is cut off");
        read_address(reader.take(length), decoded);
    } else if (opcode != SendOpcode::send && opcode != SendOpcode::send_with_immediate) {
        if (!reader.has(wqe_raddr_seg::bytes))
            return refuse(decoded, "there is no remote address in it");
        const auto remote = reader.take(wqe_raddr_seg::bytes);
        request.remote_address = Iova{get(remote, wqe_raddr_seg::raddr)};
        request.rkey = RKey{static_cast<std::uint32_t>(get(remote, wqe_raddr_seg::rkey))};
    }
    if (is_atomic(opcode)) {
        if (!reader.has(wqe_atomic_seg::bytes))
            return refuse(decoded, "there are no operands in it");
        const auto operands = reader.take(wqe_atomic_seg::bytes);
        const std::uint64_t swap_add = get(operands, wqe_atomic_seg::swap_add);
        if (opcode == SendOpcode::fetch_and_add) {
            request.compare_add = swap_add;
        } else {
            request.swap = swap_add;
            request.compare_add = get(operands, wqe_atomic_seg::compare);
        }
    }
    if (!read_pieces(reader, decoded))
        return refuse(decoded, "a piece of its data is cut off");
    // Drivers make one inline segment of all pieces, or none.
    if (has(request.flags, SendFlags::inline_data) && (!decoded.sges.empty() || brings_back(opcode)))
        return refuse(decoded, "it has inline data where there may be none");
    request.sges = decoded.sges;
    request.inline_bytes = decoded.inline_bytes;
    decoded.kind = SendEntry::Kind::request;
}

} // namespace

EntrySize size_of_entry(std::span<const std::byte> control) noexcept
{
    const std::size_t bytes = get(control, wqe_ctrl_seg::ds) * send_wqe_ds;
    const std::size_t blocks = std::max<std::size_t>(1, (bytes + send_wqe_bb - 1) / send_wqe_bb);
    return {bytes, static_cast<std::uint16_t>(blocks)};
}

void decode(std::span<const std::byte> entry, QpKind kind, SendEntry& decoded)
{
    decoded.sges.clear();
    decoded.inline_bytes.clear();
    decoded.request = {};
    decoded.why = {};
    Reader reader{entry};
    if (!reader.has(wqe_ctrl_seg::bytes))
        return refuse(decoded, "its length makes no sense");
    const auto control = reader.take(wqe_ctrl_seg::bytes);
    decoded.opcode = static_cast<std::uint8_t>(get(control, wqe_ctrl_seg::opcode));
    const auto flags = static_cast<unsigned>(get(control, wqe_ctrl_seg::fm_ce_se));
    decoded.signaled = (flags >> wqe_completion_shift & 2) != 0;
    const auto opcode = static_cast<WqeOpcode>(decoded.opcode);
    if (opcode == WqeOpcode::nop) {
        decoded.kind = SendEntry::Kind::nothing;
        return;
    }
    if (opcode == WqeOpcode::umr) {
        if (kind == QpKind::ud)
            return refuse(decoded, "a UD queue pair changes no keys");
        decoded.kind = SendEntry::Kind::key_change;
        return;
    }
    SendOpcode as{};
    if (!known(opcode, kind, as))
        return refuse(decoded, "its opcode is none of this kind of queue pair");
    if ((flags & wqe_solicited) != 0)
        decoded.request.flags = decoded.request.flags | SendFlags::solicited;
    if ((flags >> wqe_fence_shift) > wqe_fence_small)
        decoded.request.flags = decoded.request.flags | SendFlags::fence;
    decoded.request.immediate = static_cast<std::uint32_t>(get(control, wqe_ctrl_seg::imm));
    read_request(reader, kind, as, decoded);
}

} // namespace mrz::queues
