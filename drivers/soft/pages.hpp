// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! The entries of a translation table.
#pragma once

#include <mrzone/base.hpp>
#include <mrzone/plan.hpp>

#include <vector>

namespace mrz::soft {

//! The DMA addresses of the naturally aligned pages of [start, start + length of \p layout) in a key's space.
//! Throws Error (data, ESTALE) if \p page does not fit: the frames are not those that it was planned for.
std::vector<DmaAddress> translation_pages(const Layout& layout, Iova start, PageShift page);

} // namespace mrz::soft
