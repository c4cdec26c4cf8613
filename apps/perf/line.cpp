// SPDX-License-Identifier: BSD-3-Clause
#include "line.hpp"

#include "pattern.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

namespace mrz::perf {
namespace {

//! Which slots \p operations have written.
std::vector<bool> touched(const Slots& slots, const LineUse& use, std::uint64_t operations)
{
    std::vector<bool> set(slots.count());
    if (use.settings.order == Order::sequential) {
        std::fill_n(set.begin(), std::min<std::uint64_t>(operations, slots.count()), true);
        return set;
    }
    // However many a peer says that they were, all are found before long.
    std::size_t left = slots.count();
    for (std::uint64_t n = 0; n < operations && left > 0; ++n) {
        const std::size_t slot = slots.of(n);
        left -= set[slot] ? 0 : 1;
        set[slot] = true;
    }
    return set;
}

std::uint64_t verify_word(const Line& line, const LineUse& use, std::uint64_t operations)
{
    std::uint64_t found = 0;
    std::memcpy(&found, line.target.data(), sizeof found);
    const std::uint64_t wanted = atomic_start(use.step.seed) + operations * atomic_step;
    if (found != wanted)
        throw Error{EBADMSG,
                    {.trouble = Trouble::data,
                     .what = "comparing the word of atomic operations",
                     .limit = "after " + std::to_string(operations) + " of them it is",
                     .present = found,
                     .need = wanted,
                     .remedy = "report it, with both command lines"}};
    return sizeof found;
}

//! Of writes there and back, which all go to the first slot, and whose last byte is a count.
std::uint64_t verify_last(const Line& line, const LineUse& use, std::uint64_t operations, const Pattern& brought)
{
    if (operations == 0)
        return 0;
    const std::size_t length = use.step.size - 1;
    brought.check(line.target.first(length), use.slots().offset(operations - 1), "that were written");
    return length;
}

} // namespace

std::size_t LineUse::depth() const noexcept
{
    const Slots places = slots();
    const std::size_t most = std::min<std::size_t>(settings.depth, places.count());
    if (step.registration != TierKind::temporary && step.registration != TierKind::batch)
        return most;
    // A lease holds whole pages. What does not begin with one reaches into one more.
    constexpr std::size_t page = 4096;
    const std::size_t held = (step.size + page - 1) / page * page + (places.stride() % page != 0 ? page : 0);
    return std::clamp<std::size_t>(settings.cache / held, 1, most);
}

Access target_access(Operation operation) noexcept
{
    switch (operation) {
    case Operation::write:
        return Access::local_write | Access::remote_write;
    case Operation::read:
        return Access::remote_read;
    case Operation::atomic:
        return Access::local_write | Access::remote_atomic;
    case Operation::send:
        break;
    }
    return Access::local_write;
}

std::uint64_t atomic_start(std::uint64_t seed) noexcept
{
    return mixed(seed);
}

void prepare(Line& line, const LineUse& use)
{
    const bool verify = use.settings.verify;
    const Operation operation = use.settings.operation;
    if (use.begins() && verify) {
        const auto pattern = operation == Operation::read ? Pattern::before(use.step.seed, use.server, line.number)
                                                          : Pattern::brought(use.step.seed, use.server, line.number);
        pattern.fill(line.local, 0);
    }
    if (!use.is_target())
        return;
    if (verify && operation != Operation::send) {
        const auto pattern = operation == Operation::read ? Pattern::brought(use.step.seed, !use.server, line.number)
                                                          : Pattern::before(use.step.seed, !use.server, line.number);
        pattern.fill(line.target, 0);
    }
    if (operation == Operation::atomic) {
        const std::uint64_t start = atomic_start(use.step.seed);
        std::memcpy(line.target.data(), &start, sizeof start);
    }
    if (operation == Operation::write && use.settings.latency)
        line.target[use.step.size - 1] = std::byte{0}; // the first count to come is 1
}

std::uint64_t verify(const Line& line, const LineUse& use, std::uint64_t operations)
{
    if (!use.settings.verify || !use.is_target())
        return 0;
    const Slots slots = use.slots();
    const auto brought = Pattern::brought(use.step.seed, !use.server, line.number);
    switch (use.settings.operation) {
    case Operation::atomic:
        return verify_word(line, use, operations);
    case Operation::send:
        return 0; // each message was, when it came
    case Operation::read:
        brought.check(line.target, 0, "that were read, where they are from");
        return line.target.size();
    case Operation::write:
        break;
    }
    if (use.settings.latency)
        return verify_last(line, use, operations, brought);
    const auto before = Pattern::before(use.step.seed, !use.server, line.number);
    const std::vector<bool> written = touched(slots, use, operations);
    std::size_t at = 0;
    for (std::size_t slot = 0; slot < slots.count(); ++slot, at += slots.stride()) {
        const std::span<const std::byte> bytes = line.target.subspan(at, slots.stride());
        (written[slot] ? brought : before).check(bytes.first(slots.size()), at, "that were written");
        // A length that is no multiple of a word cuts one; whole words from there on were never to change.
        const std::size_t next = (slots.size() + 7) / 8 * 8;
        before.check(bytes.subspan(next), at + next, "beside those that were written");
    }
    before.check(line.target.subspan(at), at, "beside those that were written");
    return line.target.size();
}

} // namespace mrz::perf
