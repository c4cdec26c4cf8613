// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Snapshots (mrzone/fields.hpp) for people and for programs.
#pragma once

#include "output.hpp"

#include <mrzone/fields.hpp>

#include <string>

namespace mrz::app {

//! An object, in which each part is one.
Json to_json(const Fields& fields);
//! A line that begins with \p title, then one for each part, indented: "  arena: regions 2, keys 2".
std::string to_text(std::string_view title, const Fields& fields);

} // namespace mrz::app
