// SPDX-License-Identifier: BSD-3-Clause
// What the control socket can ask of the device, and break.
#include "adapter.hpp"

#include "adapter_state.hpp"

#include <cerrno>
#include <chrono>
#include <string>
#include <string_view>

namespace mrz {
namespace {

using control::Json;
using control::number_of;
using control::Verb;

constexpr std::uint64_t most_keys_shown = 1000;

std::string_view to_string(firmware::Life::Stage stage)
{
    switch (stage) {
    case firmware::Life::Stage::disabled:
        return "disabled";
    case firmware::Life::Stage::enabled:
        return "enabled";
    case firmware::Life::Stage::initialized:
        return "initialized";
    }
    return "unknown";
}

queues::CompletionFault completion_fault_of(const Json& request)
{
    constexpr std::uint64_t longest_delay = 3'600'000;
    constexpr std::uint64_t most_numbers = 0xff'ffff;
    queues::CompletionFault fault;
    fault.delay = std::chrono::milliseconds{number_of(request, "delay", 0, longest_delay)};
    fault.lose = number_of(request, "lose", 0);
    if (request.contains("cq"))
        fault.cqn = static_cast<std::uint32_t>(number_of(request, "cq", 0, most_numbers));
    return fault;
}

} // namespace

Json Adapter::state()
{
    const std::lock_guard lock{mutex_};
    Json objects = Json::object();
    Json state;
    firmware_.between_commands([&] {
        for (std::size_t kind = 0; kind < firmware::kinds; ++kind) {
            const auto its = static_cast<firmware::Kind>(kind);
            objects[std::string{firmware::to_string(its)}] = firmware_.context().objects.count(its);
        }
        state = {{"stage", to_string(firmware_.life().stage())},
                 {"pages", firmware_.life().pages()},
                 {"bus_master", config_.bus_master()},
                 {"removed", removed_},
                 {"objects", objects}};
    });
    const queues::DataPath::FaultyCompletions completions = path_.faulty_completions();
    state["completions"] = {{"lost", completions.lost}, {"delayed", completions.waiting}};
    return state;
}

void Adapter::add_to(control::Commands& commands)
{
    commands.add(Verb::get, "state", "how far the driver has come, and how many objects of each kind there are",
                 [this](const Json&) { return state(); });
    commands.add(Verb::get, "counters", "operations that were done, failures, and what there is now",
                 [this](const Json&) {
                     Json shown = show(engine_.counters());
                     shown["packets_dropped"] = path_.packets_dropped();
                     const std::lock_guard lock{mutex_};
                     firmware_.between_commands([&] { shown["commands"] = show(firmware_.counts()); });
                     return shown;
                 });
    commands.add(Verb::get, "caches", "hits and misses of the caches of keys (mpt) and translations (mtt)",
                 [this](const Json&) { return show_caches(engine_.options(), engine_.counters()); });
    commands.add(Verb::get, "memory", "how much of the guest's memory is mapped", [this](const Json&) {
        Json shown;
        memory_.exclusively([&] { shown = show(memory_.counts()); });
        return shown;
    });
    commands.add(Verb::get, "links", "links to other devices, and what went over them",
                 [this](const Json&) { return show(fabric_.state()); });
    commands.add(Verb::get, "keys",
                 "memory keys, with page shift and room for translations (octwords); most=N (1000), free=1 for those "
                 "of the driver's cache, too, words=N (0) of the translations of each",
                 [this](const Json& request) {
                     const std::uint64_t words = number_of(request, "words", 0, 1 << 16);
                     return show(firmware_.keys().shown(static_cast<std::size_t>(words)),
                                 number_of(request, "free", 0, 1) != 0, number_of(request, "most", most_keys_shown));
                 });
    commands.add(Verb::set, "command-fault",
                 "commands with opcode=N end with status=N (1) and syndrome=N (0), times=N times (for ever); "
                 "times=0 ends it",
                 [this](const Json& request) -> Json {
                     firmware::CommandFault fault;
                     fault.status = static_cast<firmware::Status>(number_of(request, "status", 1, 0xff));
                     fault.syndrome = static_cast<std::uint32_t>(number_of(request, "syndrome", 0, 0xffff'ffff));
                     if (request.contains("times"))
                         fault.times = number_of(request, "times");
                     const std::uint64_t opcode = number_of(request, "opcode");
                     if (opcode > 0xffff)
                         throw Error{EINVAL,
                                     {.trouble = Trouble::invalid,
                                      .what = "making commands fail",
                                      .limit = "an opcode is at most 0xffff",
                                      .remedy = "give another"}};
                     firmware_.set_fault(static_cast<std::uint16_t>(opcode), fault);
                     return true;
                 });
    commands.add(Verb::set, "completion-fault",
                 "completions come delay=N milliseconds later (0), and the next lose=N do not come (0): those of "
                 "programs, or of queue cq=N; without an argument it ends",
                 [this](const Json& request) -> Json {
                     path_.set_completion_fault(completion_fault_of(request));
                     return true;
                 });
    commands.add(Verb::set, "key-limit", "memory keys of drivers are at most most=N, or as many as ever",
                 [this](const Json& request) -> Json {
                     const std::uint64_t most = number_of(request, "most", engine_.options().keys.keys, 0xff'ffff);
                     firmware_.between_commands([&] { firmware_.keys().limit(static_cast<std::uint32_t>(most)); });
                     return true;
                 });
    commands.add(Verb::set, "removed", "from now on the device is as if pulled out, until its virtual machine ends",
                 [this](const Json&) -> Json {
                     remove();
                     return true;
                 });
}

} // namespace mrz
