// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! What all commands of packets do with the fields of their contexts.
#pragma once

#include "firmware/command.hpp"
#include "layouts/field.hpp"

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

namespace mrz::ethernet {

[[nodiscard]] inline std::uint32_t number_of(std::span<const std::byte> in, layouts::Field field)
{
    return static_cast<std::uint32_t>(layouts::get(in, field));
}

//! What is not modelled: a field of a context, and how to say it.
struct Missing {
    layouts::Field field;
    std::string_view what;
};
//! Throws bad_param for the first of them that is not 0.
inline void refuse_missing(std::span<const std::byte> context, std::initializer_list<Missing> all)
{
    for (const Missing& missing : all) {
        if (layouts::is_set(context, missing.field))
            throw firmware::Refusal{firmware::Status::bad_param,
                                    "this device does not have " + std::string{missing.what}};
    }
}

} // namespace mrz::ethernet
