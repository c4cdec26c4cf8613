// SPDX-License-Identifier: BSD-3-Clause
#include "engines/all.hpp"

#include <algorithm>

namespace mrz::testpmd {

std::span<const Engine* const> engines()
{
    static constexpr const Engine* all[] = {&io,      &mac,      &macswap, &rxonly,         &txonly,
                                            &flowgen, &icmpecho, &csum,    &five_tuple_swap};
    return all;
}

const Engine* find_engine(std::string_view name)
{
    const auto all = engines();
    const auto found = std::ranges::find(all, name, &Engine::name);
    return found == all.end() ? nullptr : *found;
}

} // namespace mrz::testpmd
