// SPDX-License-Identifier: BSD-3-Clause
#include "settings.hpp"

#include "from_peer.hpp"

#include <cerrno>
#include <string>

namespace mrz::perf {
namespace {

using namespace mrz::literals;

constexpr std::pair<std::string_view, Operation> operations[] = {
    {"write", Operation::write}, {"read", Operation::read}, {"send", Operation::send}, {"atomic", Operation::atomic}};
constexpr std::pair<std::string_view, AtomicKind> atomics[] = {{"fetch-and-add", AtomicKind::fetch_and_add},
                                                               {"compare-and-swap", AtomicKind::compare_and_swap}};
constexpr std::pair<std::string_view, Order> orders[] = {{"sequential", Order::sequential}, {"hot", Order::hot}};
constexpr std::pair<std::string_view, TierKind> registrations[] = {{"each", TierKind::each_time},
                                                                   {"temporary", TierKind::temporary},
                                                                   {"batch", TierKind::batch},
                                                                   {"resident", TierKind::resident}};

template <class Value, std::size_t n>
std::string_view word_for(Value value, const std::pair<std::string_view, Value> (&words)[n]) noexcept
{
    for (const auto& [spelled, meant] : words)
        if (meant == value)
            return spelled;
    return "";
}

[[noreturn]] void refuse(std::string limit, std::uint64_t present, std::string remedy)
{
    throw Error{EINVAL,
                {.trouble = Trouble::invalid,
                 .what = "what is to be measured",
                 .limit = std::move(limit),
                 .present = present,
                 .remedy = std::move(remedy)}};
}

void check_range(const char* what, std::uint64_t value, std::uint64_t least, std::uint64_t most)
{
    if (value < least || value > most)
        refuse(what, value, "give " + std::to_string(least) + " to " + std::to_string(most));
}

//! A peer that asks for nonsense is no user who mistyped.
template <class Check>
void check_message(Check check)
{
    try {
        check();
    } catch (const Error& error) {
        refuse_message(error.cause().limit + " of " + std::to_string(error.cause().present.value_or(0)));
    }
}

} // namespace

std::string_view word(Operation operation) noexcept
{
    return word_for(operation, operations);
}

std::string_view word(TierKind registration) noexcept
{
    return word_for(registration, registrations);
}

void check(const Settings& settings)
{
    check_range("threads", settings.threads, 1, most_streams);
    check_range("queue pairs of a thread", settings.queue_pairs, 1, most_streams);
    check_range("queue pairs of all threads", std::uint64_t{settings.threads} * settings.queue_pairs, 1,
                most_streams);
    check_range("depth", settings.depth, 1, most_depth);
    check_range("receives that wait", settings.receives, 1, most_depth);
    check_range("bytes inline", settings.inline_bytes, 0, 4096);
    check_range("operations for each completion", settings.signal_every, 1, settings.depth);
    check_range("bytes of the largest operation", settings.largest, 1, largest_operation);
    check_range("bytes of memory of a queue pair", settings.memory, 4_KiB, 1_TiB);
    check_range("bytes of a cache", settings.cache, 4_KiB, 1_TiB);
    if (settings.memory % 4_KiB != 0)
        refuse("bytes of memory, which is whole pages of 4K", settings.memory, "give a multiple of 4K");
    if (settings.largest > settings.memory)
        refuse("bytes of the largest operation, for which the memory is too small", settings.largest,
               "give more --memory");
    if (settings.operation == Operation::atomic && settings.largest != 8)
        refuse("bytes of an atomic operation", settings.largest, "give 8, or leave the size out");
    if (settings.latency && settings.bidirectional)
        refuse("directions of a latency", 2, "leave --bidirectional out");
    if (settings.latency && settings.streams() != 1)
        refuse("queue pairs of a latency", settings.streams(), "measure it with one thread and one queue pair");
}

void check(const Step& step, const Settings& settings)
{
    check_range("bytes of an operation", step.size, 1, settings.largest);
    if (settings.operation == Operation::atomic && step.size != 8)
        refuse("bytes of an atomic operation", step.size, "give 8, or leave the size out");
    if (step.operations == 0)
        check_range("milliseconds of a measurement", static_cast<std::uint64_t>(step.duration.count()), 1,
                    static_cast<std::uint64_t>(std::chrono::milliseconds{longest}.count()));
    else
        check_range("operations of a measurement", step.operations, 1, most_operations);
}

Json to_json(const Settings& settings)
{
    return {{"operation", word(settings.operation)},
            {"atomic", word_for(settings.atomic, atomics)},
            {"latency", settings.latency},
            {"bidirectional", settings.bidirectional},
            {"verify", settings.verify},
            {"order", word_for(settings.order, orders)},
            {"threads", settings.threads},
            {"queue_pairs", settings.queue_pairs},
            {"depth", settings.depth},
            {"receives", settings.receives},
            {"inline_bytes", settings.inline_bytes},
            {"signal_every", settings.signal_every},
            {"memory", settings.memory},
            {"largest", settings.largest},
            {"cache", settings.cache}};
}

Settings settings_from(const Json& json)
{
    constexpr std::uint64_t any = std::numeric_limits<unsigned>::max();
    Settings settings{.operation = choice_from(json, "operation", operations),
                      .atomic = choice_from(json, "atomic", atomics),
                      .latency = flag_from(json, "latency"),
                      .bidirectional = flag_from(json, "bidirectional"),
                      .verify = flag_from(json, "verify"),
                      .order = choice_from(json, "order", orders),
                      .threads = static_cast<unsigned>(number_from(json, "threads", any)),
                      .queue_pairs = static_cast<unsigned>(number_from(json, "queue_pairs", any)),
                      .depth = static_cast<unsigned>(number_from(json, "depth", any)),
                      .receives = static_cast<unsigned>(number_from(json, "receives", any)),
                      .inline_bytes = static_cast<unsigned>(number_from(json, "inline_bytes", any)),
                      .signal_every = static_cast<unsigned>(number_from(json, "signal_every", any)),
                      .memory = number_from(json, "memory"),
                      .largest = number_from(json, "largest"),
                      .cache = number_from(json, "cache")};
    check_message([&] { check(settings); });
    return settings;
}

Json to_json(const Step& step)
{
    return {{"size", step.size},
            {"registration", word(step.registration)},
            {"operations", step.operations},
            {"duration_ms", static_cast<std::uint64_t>(step.duration.count())},
            {"seed", step.seed}};
}

Step step_from(const Json& json, const Settings& settings)
{
    constexpr auto most_ms = static_cast<std::uint64_t>(std::chrono::milliseconds{longest}.count());
    const Step step{.size = number_from(json, "size"),
                    .registration = choice_from(json, "registration", registrations),
                    .operations = number_from(json, "operations"),
                    .duration = std::chrono::milliseconds{number_from(json, "duration_ms", most_ms)},
                    .seed = number_from(json, "seed")};
    check_message([&] { check(step, settings); });
    return step;
}

} // namespace mrz::perf
