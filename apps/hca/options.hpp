// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! The command line.
#pragma once

#include "adapter.hpp"

#include <optional>
#include <string>
#include <vector>

namespace mrz {

//! Being a device.
struct ServeOptions {
    std::string socket;
    std::optional<std::string> control;
    AdapterOptions adapter;
};

//! Asking one.
struct AskOptions {
    std::string path;
    std::vector<std::string> words;
};

struct Options {
    std::optional<std::string> text; //!< To be printed, and that is all: help, or the version.
    std::optional<ServeOptions> serve;
    std::optional<AskOptions> ask;
};

//! Throws Error (invalid, EINVAL).
Options parse_options(int argc, const char* const* argv);

} // namespace mrz
