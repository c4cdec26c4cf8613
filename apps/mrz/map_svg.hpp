// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Hugepages as a drawing.
#pragma once

#include "common/map_view.hpp"

#include <string>

namespace mrz::app {

//! An SVG document. Each range is drawn twice: its pages in rows, as draw_text() does, and its extents with virtual
//! addresses to the right and physical ones upwards, where memory in one piece is one line.
std::string draw_svg(const MapView& view);

} // namespace mrz::app
