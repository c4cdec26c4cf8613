// SPDX-License-Identifier: BSD-3-Clause
#include <mrzone/hugepage.hpp>

#include <algorithm>

namespace mrz {

std::uint64_t Surplus::pages(std::uint64_t needed, std::uint64_t spare, std::size_t page_size) const noexcept
{
    if (all_) {
        const std::uint64_t reserve = reserve_ / page_size + (reserve_ % page_size != 0 ? 1 : 0);
        return spare > reserve ? spare - reserve : 0;
    }
    if (percent_ == 0)
        return 0;
    // A percentage of what memory can hold fits; one that does not is all there is.
    const std::uint64_t share = needed > UINT64_MAX / percent_ ? spare : needed * percent_ / 100;
    return std::min(spare, std::max<std::uint64_t>(share, least_bytes / page_size));
}

} // namespace mrz
