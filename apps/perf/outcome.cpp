// SPDX-License-Identifier: BSD-3-Clause
#include "outcome.hpp"

#include "from_peer.hpp"
#include "settings.hpp"

namespace mrz::perf {

Json to_json(const Outcome& outcome)
{
    return {{"operations", outcome.operations},
            {"bytes", outcome.bytes},
            {"seconds", outcome.seconds},
            {"peak", outcome.peak ? Json(*outcome.peak) : Json(nullptr)},
            {"processor_seconds", outcome.processor_seconds},
            {"latency_ns", to_json(outcome.latency)},
            {"verified", outcome.verified},
            {"interrupted", outcome.interrupted}};
}

Outcome outcome_from(const Json& json, std::size_t lines)
{
    Outcome outcome;
    const Json& operations = member(json, "operations");
    if (!operations.is_array() || operations.size() != lines)
        refuse_message("operations is not a list of a number for each queue pair");
    for (const Json& count : operations) {
        if (!count.is_number_unsigned() || count.get<std::uint64_t>() > most_operations)
            refuse_message("operations holds what is no number of them");
        outcome.operations.push_back(count.get<std::uint64_t>());
    }
    outcome.bytes = number_from(json, "bytes");
    outcome.seconds = real_from(json, "seconds");
    if (!member(json, "peak").is_null())
        outcome.peak = real_from(json, "peak");
    outcome.processor_seconds = real_from(json, "processor_seconds");
    const Json& latency = member(json, "latency_ns");
    outcome.latency = {.count = number_from(latency, "count"),
                       .least = real_from(latency, "min"),
                       .most = real_from(latency, "max"),
                       .average = real_from(latency, "avg"),
                       .deviation = real_from(latency, "stdev"),
                       .median = real_from(latency, "p50"),
                       .p99 = real_from(latency, "p99"),
                       .p99_9 = real_from(latency, "p99_9")};
    outcome.verified = number_from(json, "verified");
    outcome.interrupted = flag_from(json, "interrupted");
    return outcome;
}

} // namespace mrz::perf
