// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! What came of one measurement at one end.
#pragma once

#include "latencies.hpp"

#include "common/output.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace mrz::perf {

using app::Json;

struct Outcome {
    std::vector<std::uint64_t> operations = {}; //!< That this end began, on each line.
    std::uint64_t bytes = 0;                    //!< That these moved.
    double seconds = 0;                         //!< From the first to the last of them; 0 if there were none.
    std::optional<double> peak = {};            //!< Bytes a second, in the best window.
    double processor_seconds = 0;               //!< Of this process meanwhile.
    LatencySummary latency = {};
    std::uint64_t verified = 0; //!< Bytes that were compared after the end; others were when they came.
    bool interrupted = false;   //!< It ended before it was to.

    [[nodiscard]] std::uint64_t total_operations() const noexcept
    {
        std::uint64_t sum = 0;
        for (const std::uint64_t count : operations)
            sum += count;
        return sum;
    }
    //! Bytes a second.
    [[nodiscard]] double rate() const noexcept { return seconds > 0 ? static_cast<double>(bytes) / seconds : 0; }
};

Json to_json(const Outcome& outcome);
//! Throws Error (peer, EPROTO) unless it is of \p lines lines.
Outcome outcome_from(const Json& json, std::size_t lines);

} // namespace mrz::perf
