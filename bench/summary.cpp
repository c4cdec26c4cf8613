// SPDX-License-Identifier: BSD-3-Clause
#include "summary.hpp"

#include "subject.hpp"

#include <algorithm>
#include <cstdio>
#include <random>
#include <unistd.h>
#include <utility>

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

//! A ratio of medians that the project makes a claim about.
struct Claim {
    const char* subject;
    const char* reference;
    const char* wanted;
};
constexpr Claim claims[] = {
    {"window_build/1GiB", "populate_baseline/1GiB", "at most 1.10"},
    {"arena_build/1GiB", "dpdk_reserve/1GiB", "at most 1"},
    {"register/soft/4K/1GiB", "register/soft/2M/1GiB", "at least 8"},
    {"lookup/arena", "baseline/table", "at most 1.25"},
    {"lookup/foreign/1024/random", "baseline/sorted", "at most 1.3"},
    {"cache/hit/1", "baseline/mutex", "at most 2"},
    {"cache/hit/64", "baseline/mutex", "at most 2"},
    {"cache/hit/1024", "baseline/mutex", "at most 3"},
    {"cache/hit/1/two_threads", "cache/hit/1", "at most 2"},
    {"cache/hit/64/two_threads", "cache/hit/64", "at most 2"},
    {"cache/hit/1024/two_threads", "cache/hit/1024", "at most 2"},
    {"batch/adjacent/single", "batch/adjacent/256", "at least 3"},
    {"batch/scattered/single", "batch/scattered/256", "at least 1.8"},
};

//! A subject's name as it was given, without the options that Google Benchmark appends.
std::string subject_name(const benchmark::BenchmarkName& name)
{
    return name.args.empty() ? name.function_name : name.function_name + '/' + name.args;
}

struct Unit {
    const char* name;
    double seconds;
};
Unit unit_for(double seconds)
{
    if (seconds >= 1e-3)
        return {"ms", 1e-3};
    return seconds >= 1e-6 ? Unit{"us", 1e-6} : Unit{"ns", 1e-9};
}

} // namespace

Summary::Summary() : ConsoleReporter{isatty(STDOUT_FILENO) != 0 ? OO_Defaults : OO_Tabular} {}

void Summary::ReportRuns(const std::vector<Run>& runs)
{
    std::vector<Run> shown;
    for (const Run& run : runs) {
        failed_ = failed_ || (run.error_occurred && !run.error_message.starts_with(left_out));
        if (run.run_type == Run::RT_Iteration && !run.error_occurred) {
            Subject& subject = subjects_[subject_name(run.run_name)];
            subject.seconds.push_back(run.GetAdjustedRealTime() / benchmark::GetTimeUnitMultiplier(run.time_unit));
            for (const auto& [name, counter] : run.counters)
                subject.counters[name].push_back(counter.value);
        }
        if (run.error_occurred || run.repetitions <= 1 || run.aggregate_name == "median")
            shown.push_back(run);
    }
    if (!shown.empty())
        ConsoleReporter::ReportRuns(shown);
}

void Summary::print() const
{
    if (subjects_.empty())
        return;
    print_times();
    print_misses();
    print_claims();
}

void Summary::print_times() const
{
    std::puts("\nsubject                                   runs      median      quartiles");
    for (const auto& [name, subject] : subjects_) {
        const Unit unit = unit_for(median(subject.seconds));
        std::printf("%-40s %5zu  %10.2f %s   %.2f to %.2f\n", name.c_str(), subject.seconds.size(),
                    median(subject.seconds) / unit.seconds, unit.name, quantile(subject.seconds, 0.25) / unit.seconds,
                    quantile(subject.seconds, 0.75) / unit.seconds);
    }
}

void Summary::print_misses() const
{
    bool titled = false;
    for (const auto& [name, subject] : subjects_) {
        const auto mtt = subject.counters.find("mtt_misses_per_op");
        const auto mpt = subject.counters.find("mpt_misses_per_op");
        const auto entries = subject.counters.find("entries");
        if (mtt == subject.counters.end() || mpt == subject.counters.end() || entries == subject.counters.end())
            continue;
        if (!std::exchange(titled, true))
            std::puts("\nmisses of the modelled caches     entries   translations an op   keys an op");
        std::printf("%-30s %10.0f   %18.4f   %10.4f\n", name.c_str(), median(entries->second), median(mtt->second),
                    median(mpt->second));
    }
}

void Summary::print_claims() const
{
    std::puts("");
    if (const auto window = subjects_.find("window_build/1GiB"); window != subjects_.end()) {
        const auto entries = window->second.counters.find("entries");
        const double most = entries == window->second.counters.end() ? 0 : quantile(entries->second, 1);
        if (most > 1)
            std::printf("The pool has no contiguous gigabyte: a window needed %.0f entries, and looked at more pages "
                        "than it kept.\nThe ratios that are wanted are those of a pool that has one.\n\n",
                        most);
    }
    for (const Claim& claim : claims) {
        const auto subject = subjects_.find(claim.subject);
        const auto reference = subjects_.find(claim.reference);
        if (subject == subjects_.end() || reference == subjects_.end())
            continue;
        const auto& a = subject->second.seconds;
        const auto& b = reference->second.seconds;
        const auto ratios = resampled_ratios(a, b);
        std::printf("%s / %s: %.3f (95 %% interval %.3f to %.3f); wanted: %s\n", claim.subject, claim.reference,
                    median(a) / median(b), quantile(ratios, 0.025), quantile(ratios, 0.975), claim.wanted);
    }
}

} // namespace bench
