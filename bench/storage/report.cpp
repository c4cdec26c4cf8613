// SPDX-License-Identifier: BSD-3-Clause
#include "report.hpp"

#include "workload.hpp"

#include <common/frames_note.hpp>
#include <common/measuring.hpp>
#include <common/size.hpp>

#include <algorithm>
#include <cmath>
#include <iterator>

namespace bench::storage {

namespace {

using namespace mrz::literals;
using mrz::app::Json;

//! What tiers must reach, at this size and depth.
constexpr std::size_t wanted_size = 4_KiB;
constexpr std::size_t wanted_depth = 32;
constexpr double wanted_ratio = 3;

//! The latency that \p part (0 to 1) of operations do not pass. Ascending, and not empty.
std::uint32_t percentile(const std::vector<std::uint32_t>& latencies, double part)
{
    const auto rank = static_cast<std::size_t>(std::ceil(part * static_cast<double>(latencies.size())));
    return latencies[std::max<std::size_t>(rank, 1) - 1];
}

std::string microseconds(std::uint32_t nanoseconds)
{
    return fmt::format("{:.1f}", nanoseconds * 1e-3);
}

bool is_wanted(const Result& result)
{
    return result.size == wanted_size && result.depth == wanted_depth && result.tier != TierKind::each_time;
}

const char* kept_in_words(Report::Kept kept)
{
    switch (kept) {
    case Report::Kept::pinned:
        return "pinned (VmPin)";
    case Report::Kept::locked:
        return "locked by mlock, not pinned (VmLck)";
    case Report::Kept::unseen:
        break;
    }
    return "not counted by the kernel: as the tiers count it";
}

std::uint64_t pinned_bytes(const Report& report, const Result& result)
{
    return report.kept == Report::Kept::unseen ? result.holdings.bytes : result.kept_in_place;
}

std::string hit_percent(const Result& result)
{
    const std::uint64_t leases = result.hits + result.misses;
    return leases == 0 ? ""
                       : fmt::format("{:.1f}", 100 * static_cast<double>(result.hits) / static_cast<double>(leases));
}

std::string head(const Report& report)
{
    const Settings& settings = report.settings;
    const char* const hot = settings.scattered ? "in single blocks anywhere" : "in pieces of 2 MiB";
    std::string text =
        fmt::format("Storage workload: {} % of operations on {} % of {} of memory, {}; {} % reads.\n"
                    "Tiers by turns in {} rounds: medians of rates, of processor time and of ratios; percentiles of "
                    "all operations.\n"
                    "Caches of {}. All bytes were checked after the first round ({}).\n"
                    "Device {}: {}.\nMemory is {}.\n",
                    hot_operations, hot_memory, mrz::format_size(settings.memory), hot, settings.read_percent,
                    settings.rounds, mrz::format_size(settings.cache), mrz::format_size(report.checked_bytes),
                    report.device, report.reason, kept_in_words(report.kept));
    if (!report.frames)
        text += "The adapter's entries hold virtual addresses, so they are fewer than those of frames would be.\n";
    return text;
}

} // namespace

std::string to_text(const Report& report)
{
    std::string text = head(report);
    for (std::size_t at = 0; at < report.results.size();) {
        const Result& first = report.results[at];
        mrz::app::Table table{{">pages", ">depth", ">size", "tier", ">ops/s", ">MiB/s", ">p50 us", ">p99 us",
                               ">p99.9 us", ">CPU us", ">keys", ">entries", ">pinned KiB", ">hits %", ">times"}};
        for (; at < report.results.size() && report.results[at].pages == first.pages; ++at) {
            const Result& one = report.results[at];
            const double rate = mrz::app::median(one.operations_per_second);
            table.add({std::string{name(one.pages)}, std::to_string(one.depth), mrz::app::size_argument(one.size),
                       std::string{name(one.tier)}, fmt::format("{:.0f}", rate),
                       fmt::format("{:.0f}", rate * static_cast<double>(one.size) / (1 << 20)),
                       microseconds(percentile(one.latencies, 0.5)), microseconds(percentile(one.latencies, 0.99)),
                       microseconds(percentile(one.latencies, 0.999)),
                       fmt::format("{:.2f}", 1e6 * mrz::app::median(one.processor_seconds)),
                       std::to_string(one.holdings.keys), std::to_string(one.holdings.entries),
                       std::to_string(pinned_bytes(report, one) / 1024), hit_percent(one),
                       fmt::format("{:.2f}", mrz::app::median(one.ratio))});
        }
        text += "\n" + table.text();
    }
    text += '\n';
    for (const Result& one : report.results)
        if (is_wanted(one))
            text += fmt::format("{} pages, {}, depth {}: {} / each time: {:.2f} ({:.2f} to {:.2f}); wanted: at least "
                                "{:.0f}\n",
                                name(one.pages), mrz::app::size_argument(one.size), one.depth, name(one.tier),
                                mrz::app::median(one.ratio), std::ranges::min(one.ratio), std::ranges::max(one.ratio),
                                wanted_ratio);
    return text;
}

Json to_json(const Report& report)
{
    const Settings& settings = report.settings;
    Json results = Json::array();
    for (const Result& one : report.results) {
        results.push_back(
            {{"page", name(one.pages)},
             {"depth", one.depth},
             {"size", one.size},
             {"tier", name(one.tier)},
             {"operations", one.operations},
             {"operations_per_second", mrz::app::median(one.operations_per_second)},
             {"bytes_per_second", mrz::app::median(one.operations_per_second) * static_cast<double>(one.size)},
             {"rounds", one.operations_per_second},
             {"latency_ns",
              {{"p50", percentile(one.latencies, 0.5)},
               {"p99", percentile(one.latencies, 0.99)},
               {"p99_9", percentile(one.latencies, 0.999)},
               {"most", one.latencies.back()}}},
             {"processor_ns", 1e9 * mrz::app::median(one.processor_seconds)},
             {"keys", one.holdings.keys},
             {"entries", one.holdings.entries},
             {"pinned_bytes", pinned_bytes(report, one)},
             {"counted_bytes", one.holdings.bytes},
             {"hits", one.hits},
             {"misses", one.misses},
             {"evictions", one.evictions},
             {"merges", one.merges},
             {"waits", one.waits},
             {"times_each_time",
              {{"median", mrz::app::median(one.ratio)},
               {"least", std::ranges::min(one.ratio)},
               {"most", std::ranges::max(one.ratio)},
               {"wanted", is_wanted(one) ? Json(wanted_ratio) : Json()}}}});
    }
    return {
        {"schema", mrz::app::json_schema},
        {"device", report.device},
        {"driver", report.driver},
        {"reason", report.reason},
        {"frames", report.frames},
        {"kept", report.kept == Report::Kept::pinned   ? "pinned"
                 : report.kept == Report::Kept::locked ? "locked"
                                                       : "unseen"},
        {"memory", settings.memory},
        {"cache", settings.cache},
        {"hot",
         {{"operations_percent", hot_operations}, {"memory_percent", hot_memory}, {"scattered", settings.scattered}}},
        {"read_percent", settings.read_percent},
        {"rounds", settings.rounds},
        {"checked_bytes", report.checked_bytes},
        {"results", results}};
}

} // namespace bench::storage
