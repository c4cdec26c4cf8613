// SPDX-License-Identifier: BSD-3-Clause
#include "key_request.hpp"

#include <layouts/wqe.hpp>

namespace mrz::mlx5 {
namespace {

namespace head = layouts::wqe_ctrl_seg;
namespace control = layouts::wqe_umr_ctrl_seg;
namespace context = layouts::mkey_seg;

constexpr layouts::Block control_part{head::bytes, control::bytes};
constexpr layouts::Block context_part{head::bytes + control::bytes, context::bytes};
constexpr layouts::Block entries_part{head::bytes + control::bytes + context::bytes, 0};
constexpr std::uint64_t every_queue_pair = 0xffffff;

std::vector<std::byte> request(std::uint32_t queue_pair, std::uint32_t mkey, std::size_t entries)
{
    std::vector<std::byte> bytes(entries_part.offset + entries * layouts::klm::bytes);
    layouts::set(bytes, head::opcode, static_cast<std::uint8_t>(layouts::WqeOpcode::umr));
    layouts::set(bytes, head::qpn, queue_pair);
    layouts::set(bytes, head::ds, bytes.size() / layouts::send_wqe_ds);
    layouts::set(bytes, head::imm, mkey);
    const auto of_key = layouts::part(std::span{bytes}, context_part);
    layouts::set(of_key, context::qpn, every_queue_pair);
    layouts::set(of_key, context::mkey_7_0, mkey);
    return bytes;
}

void set_flags(std::span<std::byte> request, unsigned flags)
{
    layouts::set(request, head::fm_ce_se, layouts::get(request, head::fm_ce_se) | flags);
}

} // namespace

std::vector<std::byte> request_freeing(std::uint32_t queue_pair, std::uint32_t mkey)
{
    std::vector<std::byte> bytes = request(queue_pair, mkey, 0);
    const auto changes = layouts::part(std::span{bytes}, control_part);
    layouts::set(changes, control::flags, layouts::umr_inline);
    layouts::set(changes, control::mkey_mask, layouts::umr_mask::free);
    layouts::set(layouts::part(std::span{bytes}, context_part), context::free, 1);
    return bytes;
}

std::vector<std::byte> request_filling(std::uint32_t queue_pair, const Filling& filling)
{
    const std::size_t listed = listed_entries(filling.entries.size());
    std::vector<std::byte> bytes = request(queue_pair, filling.mkey, listed);
    // As Linux's driver does between requests that change one key; libmlx5 takes the small one always.
    set_flags(bytes, (filling.small_fence ? layouts::wqe_fence_small : layouts::wqe_fence_strong)
                         << layouts::wqe_fence_shift);
    const auto changes = layouts::part(std::span{bytes}, control_part);
    layouts::set(changes, control::flags,
                 layouts::umr_inline | layouts::umr_translation_offset | layouts::umr_fail_if_not_free);
    layouts::set(changes, control::xlt_octowords, listed);
    layouts::set(changes, control::mkey_mask,
                 layouts::umr_mask::free | layouts::umr_mask::key | layouts::umr_mask::start_addr |
                     layouts::umr_mask::len);
    const auto of_key = layouts::part(std::span{bytes}, context_part);
    layouts::set(of_key, context::mkey_7_0, filling.variant);
    layouts::set(of_key, context::start_addr, filling.start.value());
    layouts::set(of_key, context::len, filling.length);
    const auto list = layouts::part(std::span{bytes}, entries_part);
    for (std::size_t i = 0; i < filling.entries.size(); ++i)
        write_entry(list.subspan(i * layouts::klm::bytes, layouts::klm::bytes), filling.entries[i]);
    return bytes;
}

void signal(std::span<std::byte> request) noexcept
{
    set_flags(request, 2U << layouts::wqe_completion_shift);
}

} // namespace mrz::mlx5
