// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Forwarding engines: what happens to packets between a receive and a transmit queue.
#pragma once

#include "stream.hpp"

#include <atomic>
#include <span>
#include <string>
#include <string_view>

namespace mrz::testpmd {

//! Forwards for the streams of one lcore until \p stop; each stream is visited at least once.
using ForwardLoop = void (*)(std::span<Stream> streams, const std::atomic<bool>& stop);

//! One way to forward. engines/NAME.cpp makes it by make_engine(), and engines.cpp has the table.
struct Engine {
    std::string_view name;
    std::string_view what; //!< A sentence for the help.
    bool receives = true;
    bool sends = true;
    bool answers = false; //!< Its streams send to the port that they receive from, whatever the topology is.
    ForwardLoop loop = nullptr;
    ForwardLoop loop_with_lookup = nullptr; //!< Searches the key of each packet that is sent, or was received.
};

//! All engines, in the order of the help.
std::span<const Engine* const> engines();
//! "io, mac, …".
std::string engine_names();
//! None if there is none of that name.
const Engine* find_engine(std::string_view name);

} // namespace mrz::testpmd
