// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Medians of interleaved runs, and the ratios that the project makes claims about.
#pragma once

#include <benchmark/benchmark.h>

#include <map>
#include <string>
#include <vector>

namespace bench {

//! Prints the medians as Google Benchmark's console does, and keeps every run for the summary.
class Summary : public benchmark::ConsoleReporter {
  public:
    Summary();

    void ReportRuns(const std::vector<Run>& runs) override;

    //! Whether a subject could not be run.
    [[nodiscard]] bool failed() const noexcept { return failed_; }

    //! Prints a ratio for each claim whose two subjects were run.
    void print() const;

  private:
    void print_ratio(const char* subject, const char* reference, const char* claim) const;

    std::map<std::string, std::vector<double>> milliseconds_; //!< Of each run, by the subject's name.
    double window_entries_ = 0;                               //!< The most that a window needed.
    bool failed_ = false;
};

} // namespace bench
