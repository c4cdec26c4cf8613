// SPDX-License-Identifier: BSD-3-Clause
#include "summary.hpp"

#include <algorithm>
#include <cstdio>
#include <random>
#include <unistd.h>

namespace bench {

namespace {

//! The value below which \p part (0 to 1) of \p values lie. \p values is not empty.
double quantile(std::vector<double> values, double part)
{
    std::sort(values.begin(), values.end());
    const double at = part * static_cast<double>(values.size() - 1);
    const auto below = static_cast<std::size_t>(at);
    const auto above = std::min(below + 1, values.size() - 1);
    return values[below] + (at - static_cast<double>(below)) * (values[above] - values[below]);
}

double median(const std::vector<double>& values)
{
    return quantile(values, 0.5);
}

//! The ratios of medians that runs drawn anew, with replacement, from those that were made would have given
//! (bootstrap): how far the ratio could have come out differently by chance.
std::vector<double> resampled_ratios(const std::vector<double>& subject, const std::vector<double>& reference)
{
    std::mt19937_64 random{1};
    const auto draw = [&random](const std::vector<double>& from) {
        std::uniform_int_distribution<std::size_t> index{0, from.size() - 1};
        std::vector<double> drawn(from.size());
        std::generate(drawn.begin(), drawn.end(), [&] { return from[index(random)]; });
        return median(drawn);
    };
    std::vector<double> ratios(2000);
    std::generate(ratios.begin(), ratios.end(), [&] { return draw(subject) / draw(reference); });
    return ratios;
}

} // namespace

Summary::Summary() : ConsoleReporter{isatty(STDOUT_FILENO) != 0 ? OO_Defaults : OO_Tabular} {}

void Summary::ReportRuns(const std::vector<Run>& runs)
{
    std::vector<Run> shown;
    for (const Run& run : runs) {
        failed_ = failed_ || run.error_occurred;
        const bool single = run.run_type == Run::RT_Iteration;
        if (single && !run.error_occurred && run.time_unit == benchmark::kMillisecond)
            milliseconds_[run.run_name.function_name].push_back(run.GetAdjustedRealTime());
        const auto entries = run.counters.find("entries");
        if (run.run_name.function_name == "window_build/1GiB" && entries != run.counters.end())
            window_entries_ = std::max(window_entries_, entries->second.value);
        if (run.error_occurred || run.repetitions <= 1 || run.aggregate_name == "median")
            shown.push_back(run);
    }
    if (!shown.empty())
        ConsoleReporter::ReportRuns(shown);
}

void Summary::print() const
{
    if (milliseconds_.empty())
        return;
    std::puts("\nsubject                   runs   median ms   quartiles ms");
    for (const auto& [name, runs] : milliseconds_)
        std::printf("%-24s %5zu  %10.1f   %.1f to %.1f\n", name.c_str(), runs.size(), median(runs),
                    quantile(runs, 0.25), quantile(runs, 0.75));
    if (window_entries_ > 1)
        std::printf(
            "\nThe pool has no contiguous gigabyte: a window needed %.0f entries, and looked at more pages than it "
            "kept.\nThe ratios that are wanted are those of a pool that has one.\n",
            window_entries_);
    std::puts("");
    print_ratio("window_build/1GiB", "populate_baseline/1GiB", "at most 1.10");
    print_ratio("arena_build/1GiB", "dpdk_reserve/1GiB", "at most 1");
}

void Summary::print_ratio(const char* subject, const char* reference, const char* claim) const
{
    const auto a = milliseconds_.find(subject);
    const auto b = milliseconds_.find(reference);
    if (a == milliseconds_.end() || b == milliseconds_.end())
        return;
    const auto ratios = resampled_ratios(a->second, b->second);
    std::printf("%s / %s: %.3f (95 %% interval %.3f to %.3f); wanted: %s\n", subject, reference,
                median(a->second) / median(b->second), quantile(ratios, 0.025), quantile(ratios, 0.975), claim);
}

} // namespace bench
