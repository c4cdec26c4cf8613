// SPDX-License-Identifier: BSD-3-Clause
#include "report.hpp"

#include "common/measuring.hpp"
#include "common/size.hpp"

#include <algorithm>
#include <vector>

namespace mrz::perf {
namespace {

constexpr std::string_view rule = "---------------------------------------------------------------------------------"
                                  "------\n";

template <class Of>
double median_of(const Row& row, Of of)
{
    std::vector<double> values;
    for (const Results& one : row.rounds)
        values.push_back(of(one));
    return app::median(std::move(values));
}

double rate(const Results& one)
{
    return one.client.rate() + one.server.rate();
}

double per_byte(double seconds, std::uint64_t of)
{
    return of > 0 ? seconds / static_cast<double>(of) : 0;
}

//! The share of an operation's byte, at both ends' sum of bytes.
double share(double seconds, const Results& one)
{
    return per_byte(seconds, one.client.bytes + one.server.bytes);
}

std::string_view title(const Settings& settings)
{
    switch (settings.operation) {
    case Operation::write:
        return "RDMA_Write";
    case Operation::read:
        return "RDMA_Read";
    case Operation::atomic:
        return "Atomic";
    case Operation::send:
        break;
    }
    return "Send";
}

bool compares(const ClientOptions& options)
{
    return options.registrations.size() > 1;
}

const char* name(Unit unit)
{
    return unit == Unit::gigabits ? "Gb/sec" : "MB/sec";
}

double in(Unit unit, double bytes_a_second)
{
    return unit == Unit::gigabits ? bytes_a_second * 8e-9 : bytes_a_second / (1 << 20);
}

std::string pages(const MemoryOptions& memory)
{
    return fmt::format("{}{}", memory.arena ? "arena of " : "", app::size_argument(memory.page_size));
}

double nanoseconds_a_kibibyte(double seconds_a_byte)
{
    return seconds_a_byte * 1e9 * 1024;
}

const Row* row_of(const ClientReport& report, std::size_t size, TierKind registration)
{
    for (const Row& row : report.rows)
        if (row.step.size == size && row.step.registration == registration && !row.rounds.empty())
            return &row;
    return nullptr;
}

//! The last one of a size, which TCP is compared with.
const Row* row_before_tcp(const ClientOptions& options, const ClientReport& report, std::size_t size)
{
    return row_of(report, size, options.registrations.back());
}

} // namespace

Summary summarize(const Row& row)
{
    Summary summary{.operations = median_of(row,
                                            [](const Results& one) {
                                                return static_cast<double>(one.client.total_operations() +
                                                                           one.server.total_operations());
                                            }),
                    // What was over before a window was has no better part.
                    .peak = median_of(row,
                                      [](const Results& one) {
                                          return one.client.peak.value_or(one.client.rate()) +
                                                 one.server.peak.value_or(one.server.rate());
                                      }),
                    .average = median_of(row, rate),
                    .client_processor =
                        median_of(row, [](const Results& one) { return share(one.client.processor_seconds, one); }),
                    .server_processor =
                        median_of(row, [](const Results& one) { return share(one.server.processor_seconds, one); })};
    summary.rate = summary.average / static_cast<double>(row.step.size);
    std::vector<LatencySummary> latencies;
    for (const Results& one : row.rounds)
        latencies.push_back(one.client.latency);
    if (!latencies.empty()) {
        const auto middle = latencies.begin() + static_cast<std::ptrdiff_t>((latencies.size() - 1) / 2);
        std::ranges::nth_element(latencies, middle, {}, &LatencySummary::median);
        summary.latency = *middle;
    }
    return summary;
}

Ratio ratio_of(const Row& row, const Row& base)
{
    std::vector<double> ratios;
    for (std::size_t i = 0; i < std::min(row.rounds.size(), base.rounds.size()); ++i) {
        // Of latencies the smaller is the better one.
        const double here =
            row.rounds[i].client.latency.count > 0 ? base.rounds[i].client.latency.median : rate(row.rounds[i]);
        const double there =
            row.rounds[i].client.latency.count > 0 ? row.rounds[i].client.latency.median : rate(base.rounds[i]);
        if (there > 0)
            ratios.push_back(here / there);
    }
    if (ratios.empty())
        return {};
    return {.median = app::median(ratios), .least = std::ranges::min(ratios), .most = std::ranges::max(ratios)};
}

std::string head_text(const ClientOptions& options, const ClientReport& report, Unit unit)
{
    const Settings& settings = options.settings;
    std::string text{rule};
    text += fmt::format("                    {}{} {} Test\n", title(settings),
                        settings.bidirectional ? " Bidirectional" : "",
                        options.refusals   ? "Refusals"
                        : settings.latency ? "Latency"
                                           : "BW");
    text += fmt::format(" Device         : {} ({})\n", report.device, report.driver);
    text += fmt::format(" Server         : {}, device {} ({})\n", report.peer, report.server_device,
                        report.server_driver);
    text +=
        fmt::format(" Threads        : {}\t\tQueue pairs    : {} a thread\n", settings.threads, settings.queue_pairs);
    text += fmt::format(" TX depth       : {}\t\tCQ Moderation  : {}\n", settings.depth, settings.signal_every);
    text += fmt::format(" Pages          : {}\t\tMemory         : {} a queue pair\n", pages(options.memory),
                        app::size_argument(settings.memory));
    if (compares(options))
        text += fmt::format(" Registration   : all by turns, {} rounds; medians\n", options.rounds);
    else
        text += fmt::format(" Registration   : {}\t\tRounds         : {}\n", word(options.registrations.front()),
                            options.rounds);
    if (settings.verify)
        text += " Data           : verified\n";
    text += rule;
    if (options.refusals)
        return text;
    text +=
        settings.latency
            ? " #bytes    #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    "
              "t_stdev[usec]    99% percentile[usec]    99.9% percentile[usec]"
            : fmt::format(" #bytes     #iterations    BW peak[{0}]    BW average[{0}]   MsgRate[Mpps]", name(unit));
    return text + (compares(options) ? "   registration   times each\n" : "\n");
}

std::string rows_text(const ClientOptions& options, std::span<const Row> rows, Unit unit)
{
    std::string text;
    for (const Row& row : rows) {
        const Summary one = summarize(row);
        const LatencySummary& latency = one.latency;
        if (options.settings.latency)
            text += fmt::format(" {:<7}   {:<10}     {:<7.2f}        {:<7.2f}      {:<7.2f}          {:<7.2f}        "
                                "{:<7.2f}          {:<7.2f}                 {:<7.2f}",
                                row.step.size, latency.count, latency.least * 1e-3, latency.most * 1e-3,
                                latency.median * 1e-3, latency.average * 1e-3, latency.deviation * 1e-3,
                                latency.p99 * 1e-3, latency.p99_9 * 1e-3);
        else
            text += fmt::format(" {:<7}    {:<10.0f}     {:<7.2f}            {:<7.2f}              {:<7.6f}",
                                row.step.size, one.operations, in(unit, one.peak), in(unit, one.average),
                                one.rate * 1e-6);
        if (compares(options))
            text += fmt::format("        {:<9}      {:.2f}", word(row.step.registration),
                                ratio_of(row, rows.front()).median);
        text += "\n";
    }
    return text;
}

std::string tail_text(const ClientOptions& options, const ClientReport& report)
{
    std::string text{options.refusals ? "" : rule};
    if (compares(options)) {
        text +=
            fmt::format("Registering each time, by turns with the others in {} rounds: how many times as fast they "
                        "were (least to most)\n",
                        options.rounds);
        std::vector<std::string> headings{">#bytes"};
        for (const TierKind registration : options.registrations)
            headings.push_back(fmt::format(">{}", word(registration)));
        app::Table table{headings};
        for (const std::size_t size : options.sizes) {
            const Row* const base = row_of(report, size, options.registrations.front());
            if (base == nullptr)
                continue;
            std::vector<std::string> cells{std::to_string(size)};
            for (const TierKind registration : options.registrations) {
                const Row* const row = row_of(report, size, registration);
                const Ratio ratio = row != nullptr ? ratio_of(*row, *base) : Ratio{};
                cells.push_back(fmt::format("{:.2f} ({:.2f} to {:.2f})", ratio.median, ratio.least, ratio.most));
            }
            table.add(std::move(cells));
        }
        text += table.text();
    }
    if (!report.tcp.empty()) {
        text += "The same bytes by TCP between the same two processes; processor time of each, in ns a KiB\n";
        app::Table table{{">#bytes", "way", ">MB/sec", ">client", ">server", ">both", ">times TCP's"}};
        for (const TcpRow& one : report.tcp) {
            const Row* const row = row_before_tcp(options, report, one.size);
            if (row == nullptr)
                continue;
            const Summary rdma = summarize(*row);
            const TcpResults& tcp = one.results;
            const double client = per_byte(tcp.client.processor_seconds, tcp.bytes);
            const double server = per_byte(tcp.server.processor_seconds, tcp.bytes);
            const double seconds = std::max(tcp.client.seconds, tcp.server.seconds);
            const auto add = [&](const std::string& way, double bytes_a_second, double at_client, double at_server) {
                table.add({std::to_string(one.size), way, fmt::format("{:.0f}", in(Unit::mebibytes, bytes_a_second)),
                           fmt::format("{:.1f}", nanoseconds_a_kibibyte(at_client)),
                           fmt::format("{:.1f}", nanoseconds_a_kibibyte(at_server)),
                           fmt::format("{:.1f}", nanoseconds_a_kibibyte(at_client + at_server)),
                           client + server > 0 ? fmt::format("{:.2f}", (at_client + at_server) / (client + server))
                                               : std::string{}});
            };
            add(report.driver, rdma.average, rdma.client_processor, rdma.server_processor);
            add("TCP", seconds > 0 ? static_cast<double>(tcp.bytes) / seconds : 0, client, server);
        }
        text += table.text();
    }
    text += report.trials.empty() ? "" : to_text(report.trials);
    if (report.interrupted)
        text += "Interrupted: these are the results so far.\n";
    return text;
}

app::Json report_json(const ClientOptions& options, const ClientReport& report)
{
    Json rows = Json::array();
    for (const Row& row : report.rows) {
        if (row.rounds.empty())
            continue;
        const Summary one = summarize(row);
        Json rounds = Json::array();
        for (const Results& round : row.rounds)
            rounds.push_back({{"client", to_json(round.client)}, {"server", to_json(round.server)}});
        const Row* const base = row_of(report, row.step.size, options.registrations.front());
        const Ratio ratio = base != nullptr ? ratio_of(row, *base) : Ratio{};
        rows.push_back(
            {{"size", row.step.size},
             {"registration", word(row.step.registration)},
             {"operations", one.operations},
             {"peak_bytes_per_second", one.peak},
             {"bytes_per_second", one.average},
             {"operations_per_second", one.rate},
             {"processor_ns_per_byte",
              {{"client", one.client_processor * 1e9}, {"server", one.server_processor * 1e9}}},
             {"latency_ns", options.settings.latency ? to_json(one.latency) : Json(nullptr)},
             {"times_first", compares(options)
                                 ? Json{{"median", ratio.median}, {"least", ratio.least}, {"most", ratio.most}}
                                 : Json(nullptr)},
             {"rounds", rounds}});
    }
    Json tcp = Json::array();
    for (const TcpRow& one : report.tcp)
        tcp.push_back({{"size", one.size},
                       {"bytes", one.results.bytes},
                       {"seconds", std::max(one.results.client.seconds, one.results.server.seconds)},
                       {"processor_ns_per_byte",
                        {{"client", per_byte(one.results.client.processor_seconds, one.results.bytes) * 1e9},
                         {"server", per_byte(one.results.server.processor_seconds, one.results.bytes) * 1e9}}}});
    return {{"schema", app::json_schema},
            {"device", report.device},
            {"driver", report.driver},
            {"reason", report.reason},
            {"frames", report.frames},
            {"peer", report.peer},
            {"server", {{"device", report.server_device}, {"driver", report.server_driver}}},
            {"page", options.memory.page_size},
            {"arena", options.memory.arena},
            {"settings", to_json(options.settings)},
            {"interrupted", report.interrupted},
            {"results", rows},
            {"tcp", tcp},
            {"refusals", to_json(report.trials)}};
}

} // namespace mrz::perf
