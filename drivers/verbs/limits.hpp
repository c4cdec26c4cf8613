// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! What a device lets the planner choose from, and what it can, by what it reports of itself.
#pragma once

#include <mrzone/plan.hpp>

#include <infiniband/verbs.h>

namespace mrz::verbs {

//! Whether the kernel does the adapter's work (rxe, siw).
[[nodiscard]] bool is_software(const ibv_device_attr& attributes) noexcept;

//! \p most is what this kernel's drivers stand.
[[nodiscard]] Limits to_limits(const ibv_device_attr& attributes, PageShift most) noexcept;

//! Whether the page sizes between the smallest and the largest are not all there: a plan then may name one that the
//! device has not, and count fewer entries than it builds.
[[nodiscard]] bool has_gaps(const ibv_device_attr& attributes, const Limits& limits) noexcept;

//! Whether reliable connected queue pairs may use memory that is registered on demand.
[[nodiscard]] bool pages_on_demand(const ibv_device_attr_ex& attributes) noexcept;

} // namespace mrz::verbs
