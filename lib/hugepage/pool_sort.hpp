// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Puts a pool in order.
#pragma once

#include "page_files.hpp"
#include "page_taker.hpp"

#include <optional>

namespace mrz::hugepage {

//! Takes every page of the pool that nobody else has a claim on, beside those that \p held has, and gives all of them
//! back in descending frame order. The kernel's free list is last in, first out: whoever takes pages next gets them
//! in ascending order. \p held is empty afterwards, whatever happens.
//! \return false if the frames are hidden: then the pages went back as they came.
//! Throws Error as take_pages() and frames_of().
bool sort_pool(PageFiles held, std::optional<int> node, ProgressMeter& meter);

} // namespace mrz::hugepage
