// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! A table of drivers of its own for the suite: software adapters whose direct keys hold one translation entry, so
//! that almost every region is an indirect key over several.
#include "device.hpp"

#include <array>
#include <string>
#include <vector>

namespace mrz {
namespace {

constexpr Limits one_entry(const IndirectLimits& indirect)
{
    return {.max_mtt_entries = 1, .indirect = indirect};
}

std::shared_ptr<Device> open(std::string_view device)
{
    return soft::make_device(soft::Adapter::get(),
                             one_entry(device == "klm" ? IndirectLimits{.klm = true} : IndirectLimits{.ksm = true}));
}

} // namespace

std::span<const Driver> drivers()
{
    static const std::array<Driver, 1> table{{{
        .name = "soft",
        .list =
            [] {
                return std::vector<std::string>{"klm", "ksm"};
            },
        .open = open,
    }}};
    return table;
}

} // namespace mrz
