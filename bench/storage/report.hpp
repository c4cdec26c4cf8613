// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! What came of the storage workload, for people and for programs.
#pragma once

#include "measure.hpp"

#include <common/output.hpp>

#include <string>

namespace bench::storage {

std::string to_text(const Report& report);
mrz::app::Json to_json(const Report& report);

} // namespace bench::storage
