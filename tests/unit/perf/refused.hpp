// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! What a call is refused with.
#pragma once

#include <mrzone/base.hpp>

#include <optional>

namespace mrz::test {

//! The kind of trouble that \p call throws; nothing if it throws none.
template <class Call>
std::optional<Trouble> trouble_of(Call call)
{
    try {
        call();
    } catch (const Error& error) {
        return error.cause().trouble;
    }
    return std::nullopt;
}

} // namespace mrz::test
