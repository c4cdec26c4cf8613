// SPDX-License-Identifier: BSD-3-Clause
#include "streams.hpp"

#include <mrzone/base.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>

namespace mrz::testpmd {

std::size_t destination(std::size_t index, std::size_t count, Topology topology)
{
    switch (topology) {
    case Topology::paired: {
        const std::size_t partner = index ^ 1;
        return partner < count ? partner : index;
    }
    case Topology::chained:
        return (index + 1) % count;
    case Topology::loop:
        break;
    }
    return index;
}

std::vector<std::size_t> shares(std::size_t streams, std::size_t lcores)
{
    std::vector<std::size_t> each;
    for (std::size_t left = std::min(streams, lcores); left > 0; --left) {
        each.push_back((streams + left - 1) / left);
        streams -= each.back();
    }
    return each;
}

std::vector<unsigned> forwarding_lcores(const ForwardOptions& options, std::span<const unsigned> workers,
                                        unsigned main_lcore)
{
    for (const unsigned lcore : options.lcores)
        if (std::ranges::find(workers, lcore) == workers.end())
            throw Error{EINVAL, Cause{.trouble = Trouble::invalid,
                                      .what = fmt::format("forwarding on lcore {} (--coremask)", lcore),
                                      .limit = lcore == main_lcore ? "it is the main lcore, which the prompt needs"
                                                                   : "the EAL was not given it",
                                      .remedy = "give the EAL more lcores (-l), or another --coremask"}};
    const std::size_t wanted = options.lcore_count();
    if (workers.size() < wanted)
        throw Error{EINVAL,
                    Cause{.trouble = Trouble::invalid,
                          .what = "forwarding",
                          .limit = "number of lcores beside the main one, which does not forward,",
                          .present = workers.size(),
                          .need = wanted,
                          .remedy = fmt::format("give the EAL {} lcores, for example: -l 0-{}", wanted + 1, wanted)}};
    if (!options.lcores.empty())
        return options.lcores;
    return {workers.begin(), workers.begin() + options.cores};
}

} // namespace mrz::testpmd
