// SPDX-License-Identifier: BSD-3-Clause
#include "queues/umr.hpp"

#include "layouts/wqe.hpp"

namespace mrz::queues {

using namespace layouts;

UmrEntry decode_umr(std::span<const std::byte> entry)
{
    static constexpr std::size_t head = wqe_ctrl_seg::bytes + wqe_umr_ctrl_seg::bytes + mkey_seg::bytes;
    UmrEntry decoded;
    if (entry.size() < head) {
        decoded.why = "it is too short to say what is to be changed";
        return decoded;
    }
    const auto control = entry.subspan(wqe_ctrl_seg::bytes, wqe_umr_ctrl_seg::bytes);
    const auto context = entry.subspan(wqe_ctrl_seg::bytes + wqe_umr_ctrl_seg::bytes, mkey_seg::bytes);
    const auto rest = entry.subspan(head);
    const auto flags = static_cast<unsigned>(get(control, wqe_umr_ctrl_seg::flags));
    firmware::KeyChange& change = decoded.change;
    change.index = static_cast<std::uint32_t>(get(entry, wqe_ctrl_seg::imm)) >> 8;
    if ((flags & umr_fail_if_not_free) != 0)
        change.expect = firmware::KeyChange::Expect::free;
    else if ((flags & umr_fail_if_free) != 0)
        change.expect = firmware::KeyChange::Expect::not_free;
    change.mask = get(control, wqe_umr_ctrl_seg::mkey_mask);
    change.mkc = context;
    const std::uint64_t low = get(control, wqe_umr_ctrl_seg::xlt_offset);
    if ((flags & umr_translation_offset) != 0) {
        change.translation_offset = get(control, wqe_umr_ctrl_seg::xlt_offset_47_16) << 16 | low;
    } else if (low != 0) {
        decoded.why = "it asks for signatures";
        return decoded;
    }
    const std::size_t bytes = get(control, wqe_umr_ctrl_seg::xlt_octowords) * klm::bytes;
    if (bytes == 0)
        return decoded;
    if ((flags & umr_inline) != 0) {
        if (rest.size() < bytes) {
            decoded.why = "its translations are cut off";
            return decoded;
        }
        decoded.translations.assign(rest.begin(), rest.begin() + static_cast<std::ptrdiff_t>(bytes));
        return decoded;
    }
    if (rest.size() < wqe_data_seg::bytes || get(rest, wqe_data_seg::byte_count) < bytes) {
        decoded.why = "it does not say where all of its translations are";
        return decoded;
    }
    decoded.translations.resize(bytes);
    decoded.source = hca::Sge{Iova{get(rest, wqe_data_seg::addr)}, static_cast<std::uint32_t>(bytes),
                              LKey{static_cast<std::uint32_t>(get(rest, wqe_data_seg::lkey))}};
    return decoded;
}

} // namespace mrz::queues
