// SPDX-License-Identifier: BSD-3-Clause
// Plans made of what the searches found.
#pragma once

#include "cuts.hpp"
#include "direct_keys.hpp"
#include "ksm.hpp"

#include <mrzone/plan.hpp>

#include <optional>

namespace mrz {

//! Direct keys only; weights and what is said about other choices are not set.
Plan plan_of_direct_keys(const DirectKeys& keys, const Partition& partition);

//! Puts an indirect key over the direct ones. \p iova of the indirect key; none if it may have any.
void put_klm_over(Plan& plan, const DirectKeys& keys, std::optional<Iova> iova);
void put_ksm_over(Plan& plan, const DirectKeys& keys, const KsmSolution& ksm, std::optional<Iova> iova);

} // namespace mrz
