// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! What came of the measurements, for people and for programs.
#pragma once

#include "client.hpp"

#include "common/output.hpp"

#include <cstddef>
#include <span>
#include <string>

namespace mrz::perf {

//! A row's rounds together: medians.
struct Summary {
    double operations = 0;       //!< Of both ends, a round.
    double peak = 0;             //!< Bytes a second.
    double average = 0;          //!< Bytes a second.
    double rate = 0;             //!< Operations a second.
    double client_processor = 0; //!< Seconds a byte.
    double server_processor = 0; //!< Seconds a byte.
    LatencySummary latency = {}; //!< Of the round whose median is the median.
};
Summary summarize(const Row& row);
//! How many times as fast a row was as another of the same size, by rounds.
struct Ratio {
    double median = 0;
    double least = 0;
    double most = 0;
};
Ratio ratio_of(const Row& row, const Row& base);

//! How rates are given.
enum class Unit { mebibytes, gigabits };

//! What is known before the first row, with the headings; of each size's rows, a line each.
std::string head_text(const ClientOptions& options, const ClientReport& report, Unit unit);
std::string rows_text(const ClientOptions& options, std::span<const Row> rows, Unit unit);
//! What follows the last row: ratios, TCP beside, and what was tried.
std::string tail_text(const ClientOptions& options, const ClientReport& report);
app::Json report_json(const ClientOptions& options, const ClientReport& report);

} // namespace mrz::perf
