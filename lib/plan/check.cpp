// SPDX-License-Identifier: BSD-3-Clause
#include "check.hpp"

#include <cerrno>
#include <utility>

namespace mrz {

void refuse(std::string what, std::string remedy)
{
    throw Error{EINVAL,
                {.trouble = Trouble::invalid, .what = std::move(what), .limit = "", .remedy = std::move(remedy)}};
}

void check_limits(const Limits& limits)
{
    if (limits.min_page_shift > limits.max_page_shift)
        refuse("the smallest page shift (" + std::to_string(limits.min_page_shift.value()) +
                   ") is above the largest (" + std::to_string(limits.max_page_shift.value()) + ")",
               "give limits with min_page_shift <= max_page_shift");
    if (limits.max_segment && (*limits.max_segment == 0 || *limits.max_segment % 4096 != 0))
        refuse("the longest DMA segment is " + std::to_string(*limits.max_segment) + " bytes",
               "give a positive multiple of 4096, or none");
}

} // namespace mrz
