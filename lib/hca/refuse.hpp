// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! How commands refuse.
#pragma once

#include <mrzone/base.hpp>

#include <cerrno>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace mrz::hca {

//! A request that makes no sense: EINVAL.
[[noreturn]] inline void refuse_invalid(std::string what, std::string limit,
                                        std::optional<std::uint64_t> present = {},
                                        std::optional<std::uint64_t> need = {}, std::string remedy = {})
{
    throw Error{EINVAL, {Trouble::invalid, std::move(what), std::move(limit), present, need, std::move(remedy)}};
}

//! A limit of the adapter: ENOMEM.
[[noreturn]] inline void refuse_full(std::string what, std::string limit, std::uint64_t present, std::uint64_t need)
{
    throw Error{ENOMEM,
                {Trouble::unsupported, std::move(what), std::move(limit), present, need,
                 "destroy some, or open the adapter with a higher limit"}};
}

//! An object that does not exist, or not here: ENOENT.
[[noreturn]] inline void refuse_unknown(std::string what, std::string limit)
{
    throw Error{ENOENT, {Trouble::invalid, std::move(what), std::move(limit), {}, {}, {}}};
}

//! An object that others use: EBUSY.
[[noreturn]] inline void refuse_busy(std::string what, std::string limit, std::uint64_t users)
{
    throw Error{EBUSY, {Trouble::busy, std::move(what), std::move(limit), users, 0, "destroy what uses it first"}};
}

} // namespace mrz::hca
