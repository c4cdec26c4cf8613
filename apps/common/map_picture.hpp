// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Hugepages as a picture of text.
#pragma once

#include "map_view.hpp"

#include <string>

namespace mrz::app {

//! Unicode blocks, a page each, with half a cell left free where memory breaks; a legend; and a line for each range.
//! \p colour adds escape sequences of a terminal, which the picture does not depend on.
std::string draw_text(const MapView& view, bool colour);

//! Whether standard output is a terminal that wants colour (NO_COLOR is not set, TERM is not "dumb").
bool wants_colour();

} // namespace mrz::app
