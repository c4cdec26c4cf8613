// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Work requests that change keys (UMR: user-mode memory registration).
#pragma once

#include "firmware/memory_keys.hpp"

#include <hca/work.hpp>

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace mrz::queues {

//! An entry of opcode umr, decoded.
struct UmrEntry {
    firmware::KeyChange change;          //!< Its context is the entry's, its translations what follows.
    std::vector<std::byte> translations; //!< Whole units of 16 bytes.
    //! Where the translations are to be read from; none if there are none, or they were in the entry.
    std::optional<hca::Sge> source; //!< As many bytes as there is room for in translations.
    std::string_view why;           //!< Not empty: the entry makes no sense.
};
//! \p entry outlives what is returned.
[[nodiscard]] UmrEntry decode_umr(std::span<const std::byte> entry);

} // namespace mrz::queues
