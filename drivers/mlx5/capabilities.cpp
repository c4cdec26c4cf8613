// SPDX-License-Identifier: BSD-3-Clause
#include "capabilities.hpp"

#include "devx.hpp"
#include "mkey.hpp"

#include <layouts/capabilities.hpp>
#include <layouts/life.hpp>

#include <algorithm>

namespace mrz::mlx5 {
namespace {

constexpr std::uint16_t query_hca_cap = 0x100;
constexpr std::uint64_t general_now = 1;      // group 0, as it is set now
constexpr std::uint64_t umr_fence_strong = 0; // mlx5_ifc.h, MLX5_CAP_UMR_FENCE_…

} // namespace

Capabilities parse_capabilities(std::span<const std::byte> general) noexcept
{
    namespace cap = layouts::cmd_hca_cap;
    return {.umems = layouts::get(general, cap::log_max_umem) != 0,
            .max_indirection = static_cast<unsigned>(layouts::get(general, cap::max_indirection)),
            .fixed_buffer_size = layouts::is_set(general, cap::fixed_buffer_size),
            .log_max_klm_list_size = static_cast<unsigned>(layouts::get(general, cap::log_max_klm_list_size)),
            .requests_change_indirect_keys = !layouts::is_set(general, cap::umr_indirect_mkey_disabled),
            .small_fence_suffices = layouts::get(general, cap::umr_fence) != umr_fence_strong,
            .relaxed_ordering_write = layouts::is_set(general, cap::relaxed_ordering_write),
            .relaxed_ordering_read = layouts::is_set(general, cap::relaxed_ordering_read)};
}

Capabilities query_capabilities(const verbs::Context& context)
{
    Command command{query_hca_cap, layouts::query_hca_cap_in::bytes};
    command.set(layouts::command_in::op_mod, general_now);
    const std::vector<std::byte> answer = run(context, command, layouts::query_hca_cap_out::bytes);
    return parse_capabilities(layouts::part(std::span{answer}, layouts::query_hca_cap_out::capability));
}

Limits to_limits(const Capabilities& capabilities, const Limits& verbs) noexcept
{
    Limits limits = verbs;
    limits.rule = PageSizeRule::umem;
    const std::uint64_t listed = std::uint64_t{1} << std::min(capabilities.log_max_klm_list_size, 63U);
    limits.indirect.max_entries = std::min<std::uint64_t>(listed, most_indirect_entries);
    limits.indirect.klm = capabilities.max_indirection > 0;
    limits.indirect.ksm = limits.indirect.klm && capabilities.fixed_buffer_size;
    return limits;
}

} // namespace mrz::mlx5
