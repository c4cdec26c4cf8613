// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! The device that a guest with `--rdma rxe` has.
#pragma once

#include <mrzone/device.hpp>

#include <algorithm>

namespace mrz::test {

//! Whether the verbs driver finds it.
inline bool has_rxe0()
{
    return std::ranges::any_of(drivers(), [](const Driver& driver) {
        return driver.name == "verbs" && std::ranges::count(driver.list(), "rxe0") != 0;
    });
}

} // namespace mrz::test
