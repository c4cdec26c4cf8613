// SPDX-License-Identifier: BSD-3-Clause
#include "refusals.hpp"

#include "common/signals.hpp"

#include <algorithm>
#include <cerrno>
#include <thread>

namespace mrz::perf {
namespace {

using Clock = std::chrono::steady_clock;

//! What is asked for: of a target, something of 8 bytes.
struct Ask {
    std::string_view what;
    Opcode opcode;
    Iova at;
    RKey rkey;
    bool refused = true;
};

Opcode opcode_of(Operation operation) noexcept
{
    switch (operation) {
    case Operation::read:
        return Opcode::rdma_read;
    case Operation::atomic:
        return Opcode::atomic_fetch_and_add;
    case Operation::write:
    case Operation::send:
        break;
    }
    return Opcode::rdma_write;
}

WcStatus run(QueuePair& queue_pair, const Ask& ask, const Region& local, std::chrono::milliseconds silence)
{
    const Segment segment{local.iova(), 8, local.lkey()};
    queue_pair.post_send(
        {.id = 1, .opcode = ask.opcode, .segments = {&segment, 1}, .remote_iova = ask.at, .rkey = ask.rkey});
    Completion one;
    for (const auto deadline = Clock::now() + silence; Clock::now() < deadline;) {
        if (queue_pair.poll({&one, 1}) != 0)
            return one.status;
        app::throw_if_interrupted();
        std::this_thread::yield();
    }
    throw Error{ETIMEDOUT,
                {.trouble = Trouble::peer,
                 .what = "trying " + std::string{ask.what},
                 .limit = "milliseconds within which it ends",
                 .present = static_cast<std::uint64_t>(silence.count()),
                 .remedy = "look at the other end"}};
}

} // namespace

std::vector<Trial> try_refusals(const Domain& domain, std::span<Line> lines, Operation granted,
                                std::chrono::milliseconds silence)
{
    const auto local = domain.register_memory(lines.front().local.first(4096), Access::local_write);
    const Opcode opcode = opcode_of(granted);
    const auto other = [granted](Operation one, Operation instead) {
        return opcode_of(granted == one ? instead : one);
    };
    std::vector<Trial> trials;
    for (unsigned i = 0; i < refusal_lines; ++i) {
        const RemoteRegion& target = *lines[i].remote;
        const Ask asks[refusal_lines] = {
            {"another key, in its variant byte", opcode, target.iova, RKey{target.rkey.value ^ 0x5a}},
            {"another key, in its index", opcode, target.iova, RKey{target.rkey.value ^ 0x0055'5500}},
            {"a byte before the first", opcode, Iova{target.iova.value() - 8}, target.rkey},
            {"a byte after the last", opcode, target.iova + target.length, target.rkey},
            {"a right that was not granted", other(Operation::read, Operation::write), target.iova, target.rkey},
            {"another that was not", other(Operation::atomic, Operation::write), target.iova, target.rkey},
            {"what was granted", opcode, target.iova, target.rkey, false},
        };
        const Ask& ask = asks[i];
        trials.push_back({.what = ask.what,
                          .wanted = ask.refused ? WcStatus::remote_access_error : WcStatus::success,
                          .found = run(lines[i].connection->queue_pair(), ask, local, silence)});
    }
    return trials;
}

bool all_as_wanted(std::span<const Trial> trials) noexcept
{
    return std::ranges::all_of(trials, [](const Trial& one) { return one.found == one.wanted; });
}

std::string to_text(std::span<const Trial> trials)
{
    app::Table table{{"tried", "ended with", ""}};
    for (const Trial& one : trials)
        table.add({std::string{one.what}, std::string{to_string(one.found)},
                   one.found == one.wanted ? "as it must" : "WRONG"});
    return table.text();
}

app::Json to_json(std::span<const Trial> trials)
{
    app::Json list = app::Json::array();
    for (const Trial& one : trials)
        list.push_back({{"tried", one.what},
                        {"ended_with", to_string(one.found)},
                        {"wanted", to_string(one.wanted)},
                        {"as_wanted", one.found == one.wanted}});
    return list;
}

} // namespace mrz::perf
