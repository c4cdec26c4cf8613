// SPDX-License-Identifier: BSD-3-Clause
#include "engines/all.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

namespace mrz::testpmd {

std::span<const Engine* const> engines()
{
    static constexpr const Engine* all[] = {&io,      &mac,      &macswap, &rxonly,         &txonly,
                                            &flowgen, &icmpecho, &csum,    &five_tuple_swap};
    return all;
}

std::string engine_names()
{
    std::vector<std::string_view> names;
    for (const Engine* const engine : engines())
        names.push_back(engine->name);
    return fmt::format("{}", fmt::join(names, ", "));
}

const Engine* find_engine(std::string_view name)
{
    const auto all = engines();
    const auto found = std::ranges::find(all, name, &Engine::name);
    return found == all.end() ? nullptr : *found;
}

} // namespace mrz::testpmd
