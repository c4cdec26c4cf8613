// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! The end that says what is measured.
#pragma once

#include "refusals.hpp"
#include "session.hpp"
#include "tcp.hpp"

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace mrz::perf {

struct ClientOptions {
    std::string host;
    std::string port;
    std::string device = "any";
    MemoryOptions memory;
    Settings settings;
    std::vector<std::size_t> sizes;
    std::vector<TierKind> registrations;
    std::uint64_t operations = 0; //!< Of each queue pair; fewer of large ones unless exactly.
    bool exactly = false;
    std::chrono::milliseconds duration{}; //!< If operations is 0.
    unsigned rounds = 1;
    bool compare_tcp = false;
    bool refusals = false; //!< Try what keys must refuse, and measure nothing.
    Patience patience;
};

//! What came of one size with one way to register: a value a round.
struct Row {
    Step step;
    std::vector<Results> rounds;
};

struct TcpRow {
    std::size_t size = 0;
    TcpResults results;
};

struct ClientReport {
    std::string device, driver, reason;
    std::string server_device, server_driver;
    std::string peer;
    bool frames = false;
    std::vector<Row> rows; //!< By size, and then by way to register.
    std::vector<TcpRow> tcp;
    std::vector<Trial> trials; //!< Of ClientOptions::refusals.
    bool interrupted = false;
};

//! Measures. \p begin is told what is known before; \p add of the rows of each size when they are complete. An
//! interruption ends it early, with what there is so far. Throws Error; app::Interrupted before there is anything.
ClientReport measure(const ClientOptions& options, const std::function<void(const ClientReport&)>& begin,
                     const std::function<void(std::span<const Row>)>& add);

} // namespace mrz::perf
