// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! The end that does what clients say, one after the other.
#pragma once

#include "session.hpp"

#include <cstddef>
#include <string>

namespace mrz::perf {

struct ServerOptions {
    std::string bind; //!< None: every address.
    std::string port;
    std::string device = "any";
    MemoryOptions memory;
    std::size_t bytes = 0; //!< Of memory for clients.
    bool once = false;     //!< End with the first client, as its session ended.
    Patience patience;
};

//! Serves until an interruption, which it takes as an ordinary end. Throws Error; with ServerOptions::once the
//! session's, too.
void serve(const ServerOptions& options);

} // namespace mrz::perf
