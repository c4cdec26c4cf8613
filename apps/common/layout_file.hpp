// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! A layout as a person or a program writes it down, and a plan as JSON.
#pragma once

#include "output.hpp"

#include <mrzone/plan.hpp>

#include <optional>
#include <string_view>

namespace mrz::app {

//! What a layout file asks to be planned: the arguments of make_optimal_plan().
struct LayoutFile {
    Layout layout;
    PlanOptions options;
    Limits limits;
};

//! Reads the text of a layout file, one JSON object:
//!
//!     {"iova": "0x…" | null, "min_page_shift": 12, "max_page_shift": 31, "max_segment": bytes | null, "umem": false,
//!      "single_key": true, "indirect": true, "weights": {"mtt": 1, "mkey": 1, "indirect": 1},
//!      "extents": [{"dma": "0x…", "length": bytes}, …]}
//!
//! "extents" must be there; for the others the values above hold, iova and max_segment being null. "indirect" is
//! whether the device has KLM and KSM.
//! Throws Error (invalid, EINVAL) naming the member for anything else: no JSON, members that are unknown or there
//! twice, wrong types, addresses that are no "0x…" of at most 64 bits, no extents, lengths of zero, extents or a sum
//! of lengths past 2^64, shifts outside 12 to 63 or contradicting, a max_segment that is no positive multiple of
//! 4096, weights above 2^32 - 1. Throws Interrupted, too: a file may be long.
LayoutFile parse_layout_file(std::string_view text);

//! The plan in the words of the format that mrz(1) documents, without the schema.
Json plan_to_json(const Plan& plan);

} // namespace mrz::app
