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

    //! Prints the medians, what random reads missed, and a ratio for each claim whose two subjects were run.
    void print() const;

  private:
    //! What the runs of a subject gave, in their order.
    struct Subject {
        std::vector<double> seconds; //!< An iteration.
        std::map<std::string, std::vector<double>> counters;
    };

    void print_times() const;
    void print_misses() const;
    void print_claims() const;

    std::map<std::string, Subject> subjects_; //!< By name.
    bool failed_ = false;
};

} // namespace bench
