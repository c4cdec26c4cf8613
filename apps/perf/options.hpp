// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! The command line.
#pragma once

#include "client.hpp"
#include "report.hpp"
#include "server.hpp"

#include <optional>
#include <string>

namespace mrz::perf {

struct Options {
    std::optional<std::string> text; //!< To be printed, and that is all: help, or the version.
    std::optional<ClientOptions> client;
    std::optional<ServerOptions> server;
    Unit unit = Unit::mebibytes;
    bool json = false;
};

//! Throws Error (invalid, EINVAL).
Options parse_options(int argc, const char* const* argv);

} // namespace mrz::perf
