// SPDX-License-Identifier: BSD-3-Clause
#include <mrzone/device.hpp>

#include <cerrno>
#include <utility>

namespace mrz {

std::uint64_t inline_length(std::span<const Segment> segments, std::uint32_t most)
{
    std::uint64_t total = 0;
    for (const Segment& segment : segments)
        total += segment.length;
    if (total > most)
        throw Error{EINVAL,
                    {.trouble = Trouble::invalid,
                     .what = "posting " + std::to_string(total) + " bytes inline",
                     .limit = "the queue pair's inline bytes",
                     .present = most,
                     .need = total,
                     .remedy = "make the queue pair with more, or send from registered memory"}};
    return total;
}

void check_private_data(std::span<const std::byte> private_data, const std::string& what)
{
    if (private_data.size() > most_private_data)
        throw Error{EINVAL,
                    {.trouble = Trouble::invalid,
                     .what = what,
                     .limit = "bytes of private data",
                     .present = most_private_data,
                     .need = private_data.size(),
                     .remedy = "say less, and send the rest when it is connected"}};
}

Error full_queue(std::string what, std::uint64_t most)
{
    return Error{ENOMEM,
                 {.trouble = Trouble::busy,
                  .what = std::move(what),
                  .limit = "the requests that may be outstanding",
                  .present = most,
                  .need = most + 1,
                  .remedy = "poll completions first, or make the queue pair with more"}};
}

} // namespace mrz
