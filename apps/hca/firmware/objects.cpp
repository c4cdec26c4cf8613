// SPDX-License-Identifier: BSD-3-Clause
#include "firmware/objects.hpp"

#include <mrzone/base.hpp>

#include <algorithm>
#include <iterator>
#include <vector>

namespace mrz::firmware {

namespace {

std::string in_words(Kind kind, std::uint32_t number)
{
    return std::string{to_string(kind)} + " " + format_hex(number);
}

} // namespace

std::string_view to_string(Kind kind) noexcept
{
    switch (kind) {
    case Kind::pd:
        return "protection domain";
    case Kind::uar:
        return "UAR";
    case Kind::transport_domain:
        return "transport domain";
    case Kind::xrcd:
        return "XRC domain";
    case Kind::q_counter:
        return "queue counter";
    case Kind::mkey:
        return "memory key";
    case Kind::umem:
        return "umem";
    case Kind::uctx:
        return "user context";
    case Kind::eq:
        return "event queue";
    case Kind::cq:
        return "completion queue";
    case Kind::qp:
        return "queue pair";
    case Kind::srq:
        return "shared receive queue";
    case Kind::sq:
        return "send queue of packets";
    case Kind::rq:
        return "receive queue of packets";
    case Kind::tis:
        return "way to send packets (TIS)";
    case Kind::tir:
        return "way of received packets (TIR)";
    case Kind::rqt:
        return "table of receive queues";
    case Kind::flow_table:
        return "flow table";
    case Kind::flow_group:
        return "flow group";
    }
    return "object";
}

void Objects::limit(Kind kind, std::uint32_t first, std::uint32_t most, Status full)
{
    Table& table = tables_[index(kind)];
    table.first = first;
    table.most = most;
    table.full = full;
}

void Objects::require_room(Kind kind) const
{
    const Table& table = tables_[index(kind)];
    if (table.objects.size() >= table.most)
        throw Refusal{table.full, "there are " + std::to_string(table.objects.size()) + " of " +
                                      std::to_string(table.most) + ": " + std::string{to_string(kind)}};
}

std::uint32_t Objects::vacant(Kind kind)
{
    require_room(kind);
    Table& table = tables_[index(kind)];
    for (std::uint32_t tries = 0; tries < table.most; ++tries) {
        const std::uint32_t number = table.first + table.next;
        table.next = (table.next + 1) % table.most;
        if (!table.objects.contains(number))
            return number;
    }
    throw Refusal{Status::no_res, "no number is left: " + std::string{to_string(kind)}};
}

void Objects::add(std::shared_ptr<Object> object)
{
    const Kind kind = object->kind_of();
    const std::uint32_t number = object->number();
    auto& objects = tables_[index(kind)].objects;
    if (objects.contains(number))
        throw std::logic_error{"a number is given twice: " + in_words(kind, number)};
    const std::uint64_t age = next_age_++;
    by_age_.emplace(age, std::pair{kind, number});
    try {
        objects.emplace(number, Entry{std::move(object), age});
    } catch (...) {
        by_age_.erase(age);
        throw;
    }
}

std::shared_ptr<Object> Objects::find(Kind kind, std::uint32_t number, std::uint16_t uid, Of whose) const
{
    const auto& objects = tables_[index(kind)].objects;
    const auto found = objects.find(number);
    if (found == objects.end())
        throw Refusal{Status::bad_res, "there is no " + in_words(kind, number)};
    const std::uint16_t owner = found->second.object->uid();
    if (uid != 0 && owner != uid && !(whose == Of::uid_or_kernel && owner == 0))
        throw Refusal{Status::bad_res,
                      in_words(kind, number) + " is not this user's but of uid " + std::to_string(owner)};
    return found->second.object;
}

void Objects::destroy(Kind kind, std::uint32_t number, std::uint16_t uid)
{
    const std::shared_ptr<Object> object = find(kind, number, uid, Of::uid);
    if (object->uses() > 0)
        throw Refusal{Status::bad_res_state,
                      in_words(kind, number) + " is in use by " + std::to_string(object->uses()) + " others"};
    object->end();
    remove(kind, number);
}

std::size_t Objects::destroy_all_of(std::uint16_t uid)
{
    // The newest first, so that most users go before what they use; what was changed to use something newer takes
    // another round. What somebody else's object uses stays; that could only be the kernel's, which has not taken it
    // back.
    std::vector<std::pair<Kind, std::uint32_t>> doomed;
    for (auto at = by_age_.rbegin(); at != by_age_.rend(); ++at) {
        const auto [kind, number] = at->second;
        if (tables_[index(kind)].objects.at(number).object->uid() == uid)
            doomed.push_back(at->second);
    }
    std::size_t gone = 0;
    for (std::size_t before = doomed.size() + 1; !doomed.empty() && doomed.size() < before;) {
        before = doomed.size();
        std::string why;
        gone += std::erase_if(doomed, [&](const std::pair<Kind, std::uint32_t>& one) {
            try {
                destroy(one.first, one.second, uid);
                return true;
            } catch (const std::exception& error) {
                why += (why.empty() ? "" : "; ") + std::string{error.what()};
                return false;
            }
        });
        if (doomed.size() == before)
            log(Severity::warning, "uid " + std::to_string(uid) + " leaves something behind: " + why);
    }
    return gone;
}

bool Objects::has_any_of(std::uint16_t uid) const noexcept
{
    return std::ranges::any_of(tables_, [uid](const Table& table) {
        return std::ranges::any_of(table.objects,
                                   [uid](const auto& item) { return item.second.object->uid() == uid; });
    });
}

void Objects::clear() noexcept
{
    // A domain may be newer than a key that a request moved to it, and does not end before that: another round.
    while (end_each(false)) {
    }
    static_cast<void>(end_each(true));
    for (Table& table : tables_)
        table.next = 0;
}

bool Objects::end_each(bool last_round) noexcept
{
    bool any = false;
    for (auto at = by_age_.end(); at != by_age_.begin();) {
        const auto [kind, number] = std::prev(at)->second;
        bool ended = true;
        try {
            tables_[index(kind)].objects.at(number).object->end();
        } catch (const std::exception& error) {
            ended = false;
            if (last_round)
                log(Severity::error, in_words(kind, number) + " does not end: " + error.what());
        }
        if (ended || last_round)
            remove(kind, number); // at stays valid: it is the one after
        else
            --at;
        any = any || ended;
    }
    return any;
}

std::size_t Objects::count() const noexcept
{
    return by_age_.size();
}

void Objects::remove(Kind kind, std::uint32_t number)
{
    auto& objects = tables_[index(kind)].objects;
    const auto found = objects.find(number);
    by_age_.erase(found->second.age);
    // The object may go as the last thing, when no table holds it any more.
    const std::shared_ptr<Object> object = std::move(found->second.object);
    objects.erase(found);
}

} // namespace mrz::firmware
