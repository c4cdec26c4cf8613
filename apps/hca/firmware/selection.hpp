// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Masks by which a command says what it changes.
#pragma once

#include "firmware/command.hpp"
#include "layouts/field.hpp"

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

namespace mrz::firmware {

//! Throws bad_param where \p mask selects something else than \p known: what is not changed is not said to be.
inline void require_known(std::span<const std::byte> mask, std::initializer_list<layouts::Field> known,
                          const std::string& what)
{
    std::vector<std::byte> left(mask.begin(), mask.end());
    for (const layouts::Field field : known)
        layouts::set(left, field, 0);
    if (std::ranges::any_of(left, [](std::byte byte) { return byte != std::byte{}; }))
        throw Refusal{Status::bad_param, "it selects something of " + what + " that this device does not change"};
}

} // namespace mrz::firmware
