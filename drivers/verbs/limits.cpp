// SPDX-License-Identifier: BSD-3-Clause
#include "limits.hpp"

#include <algorithm>
#include <bit>

namespace mrz::verbs {
namespace {

// RXE_VENDOR_ID of drivers/infiniband/sw/rxe/rxe_param.h, SIW_VENDOR_ID of sw/siw/siw.h.
constexpr std::uint32_t rxe_vendor = 0xffffff;
constexpr std::uint32_t siw_vendor = 0x626d74;

// What the kernel's drivers let an adapter's record hold: 5 bits above 12 (mlx5), and no known driver goes beyond.
constexpr PageShift largest{31};

// A software device is given the kernel's own virtual addresses (ib_dma_virt_map_sg), which are physical ones plus
// the beginning of the direct map. That is a multiple of 1 GiB (mm/kaslr.c places it by PUD_SIZE) and of no more.
constexpr PageShift largest_of_software{30};

// Linux before 6.15 sees a break where a run was split for the adapter's longest segment. No adapter tells programs
// how long that is; mlx5's is 2 GiB, others' are longer. Where runs are not split, plans may count too many entries.
constexpr std::size_t longest_segment = std::size_t{1} << 31;

} // namespace

bool is_software(const ibv_device_attr& attributes) noexcept
{
    return attributes.vendor_id == rxe_vendor || attributes.vendor_id == siw_vendor;
}

Limits to_limits(const ibv_device_attr& attributes, PageShift most) noexcept
{
    const bool software = is_software(attributes);
    most = std::min({most, largest, software ? largest_of_software : largest});
    unsigned first = PageShift::least;
    unsigned last = most.value();
    if (const std::uint64_t sizes = attributes.page_size_cap; sizes != 0) {
        first = std::clamp(static_cast<unsigned>(std::countr_zero(sizes)), first, last);
        last = std::clamp(static_cast<unsigned>(std::bit_width(sizes)) - 1, first, last);
    }
    Limits limits{.min_page_shift = PageShift{first}, .max_page_shift = PageShift{last}};
    if (!software)
        limits.max_segment = longest_segment;
    return limits;
}

bool has_gaps(const ibv_device_attr& attributes, const Limits& limits) noexcept
{
    const std::uint64_t span =
        (limits.max_page_shift.bytes() << 1) - limits.min_page_shift.bytes(); // a bit for each shift
    return attributes.page_size_cap != 0 && (attributes.page_size_cap & span) != span;
}

bool pages_on_demand(const ibv_device_attr_ex& attributes) noexcept
{
    constexpr std::uint32_t all =
        IBV_ODP_SUPPORT_SEND | IBV_ODP_SUPPORT_RECV | IBV_ODP_SUPPORT_WRITE | IBV_ODP_SUPPORT_READ;
    return (attributes.odp_caps.general_caps & IBV_ODP_SUPPORT) != 0 &&
           (attributes.odp_caps.per_transport_caps.rc_odp_caps & all) == all;
}

} // namespace mrz::verbs
