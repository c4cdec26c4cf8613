// SPDX-License-Identifier: BSD-3-Clause
#include "answers.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

namespace mrz::telemetry {
namespace {

std::optional<std::uint64_t> number_in(std::string_view text) noexcept
{
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{} || end != text.data() + text.size())
        return std::nullopt;
    return number;
}

[[noreturn]] void refuse(int error_number, std::string what, std::string limit, std::string remedy)
{
    throw Error{error_number,
                {.trouble = Trouble::invalid,
                 .what = std::move(what),
                 .limit = std::move(limit),
                 .remedy = std::move(remedy)}};
}

//! A kind of objects that can be listed.
struct Kind {
    const char* one;
    std::vector<Living> (*living)();
};
constexpr Kind domains{"domain", Domain::living};
constexpr Kind caches{"cache", Cache::living};
constexpr Kind arenas{"arena", Arena::living};

std::string list_command(const Kind& kind)
{
    return std::string{"/mrzone/"} + kind.one + 's';
}

// ---- Lists -------------------------------------------------------------------------------------------------------

Fields list(const Kind& kind, std::string_view parameters)
{
    const std::optional<std::uint64_t> from = parameters.empty() ? 0 : number_in(parameters);
    if (!from)
        refuse(EINVAL, std::string{"listing from "} + std::string{parameters} + " on", "that is no number",
               "ask for " + list_command(kind) + ", or for it with a comma and the number to begin from");
    const std::vector<Living> living = kind.living();
    Fields fields{{"total", std::uint64_t{living.size()}}};
    for (const Living& one : living)
        if (one.number >= *from)
            fields.push_back({std::to_string(one.number), one.name});
    return fields;
}

// ---- One of a list -----------------------------------------------------------------------------------------------

//! The number of what is asked for by number or by name.
std::uint64_t find(const Kind& kind, std::string_view parameter)
{
    const std::string what = std::string{"showing "} + kind.one + ' ' + std::string{parameter};
    const std::string remedy = "ask " + list_command(kind) + ", and give one of these numbers";
    if (parameter.empty())
        refuse(EINVAL, what, "neither a number nor a name is given", remedy);
    const std::vector<Living> living = kind.living();
    const auto named = std::ranges::find(living, parameter, &Living::name);
    if (named != living.end()) {
        if (std::find_if(named + 1, living.end(), [&](const Living& one) { return one.name == parameter; }) !=
            living.end())
            refuse(EINVAL, what, "several have this name", remedy);
        return named->number;
    }
    const std::optional<std::uint64_t> number = number_in(parameter);
    if (!number || std::ranges::find(living, *number, &Living::number) == living.end())
        refuse(ENOENT, what, "there is none, or none any more", remedy);
    return *number;
}

template <class Snapshot>
Fields show(const Kind& kind, std::string_view parameter, std::optional<Snapshot> (*snapshot_of)(std::uint64_t))
{
    if (const std::optional<Snapshot> snapshot = snapshot_of(find(kind, parameter)))
        return fields_of(*snapshot);
    refuse(ENOENT, std::string{"showing "} + kind.one + ' ' + std::string{parameter}, "it has just ended",
           "ask " + list_command(kind));
}

void refuse_parameters(std::string_view parameters)
{
    if (!parameters.empty())
        refuse(EINVAL, std::string{"showing the page pools of "} + std::string{parameters},
               "this command takes no parameter", "ask for /mrzone/pools");
}

constexpr Command all[] = {
    {"/mrzone/arena", "Returns what an arena is made of, and its entries in each domain. Parameters: number or name",
     [](std::string_view parameters) { return show(arenas, parameters, Arena::snapshot_of); }},
    {"/mrzone/arenas", "Returns the arenas' names by number. Parameters: optionally, the number to begin from",
     [](std::string_view parameters) { return list(arenas, parameters); }},
    {"/mrzone/cache", "Returns what a cache of regions did and holds. Parameters: number, or its device's name",
     [](std::string_view parameters) { return show(caches, parameters, Cache::snapshot_of); }},
    {"/mrzone/caches", "Returns the caches' devices by number. Parameters: optionally, the number to begin from",
     [](std::string_view parameters) { return list(caches, parameters); }},
    {"/mrzone/domain", "Returns what is registered in a domain, by tier. Parameters: number, or its device's name",
     [](std::string_view parameters) { return show(domains, parameters, Domain::snapshot_of); }},
    {"/mrzone/domains", "Returns the domains' devices by number. Parameters: optionally, the number to begin from",
     [](std::string_view parameters) { return list(domains, parameters); }},
    {"/mrzone/pools", "Returns the kernel's hugepage pools, in pages. Takes no parameters",
     [](std::string_view parameters) {
         refuse_parameters(parameters);
         return fields_of(read_pools(hugepage_sizes()));
     }},
};

// ---- What fits ---------------------------------------------------------------------------------------------------

void fit(std::string& word, std::size_t room)
{
    for (char& letter : word)
        if (letter < ' ' || letter > '~')
            letter = '?';
    if (word.size() > room) {
        word.resize(room - 3);
        word += "...";
    }
}

//! Bytes of a field in JSON, at most: ,"name":"value" with every letter of a word escaped.
std::size_t bytes_of(const Field& field)
{
    constexpr std::size_t longest_number = 20;
    const auto* const word = std::get_if<std::string>(&field.value);
    return field.name.size() + 6 + (word != nullptr ? 2 * word->size() : longest_number);
}

} // namespace

std::span<const Command> commands()
{
    return all;
}

Fields answer_of(const Error& error)
{
    const Cause& cause = error.cause();
    Fields fields{{"error/errno", static_cast<std::uint64_t>(error.error_number())}, {"error/what", cause.what}};
    if (!cause.limit.empty())
        fields.push_back({"error/limit", cause.limit});
    if (cause.present)
        fields.push_back({"error/value", *cause.present});
    if (cause.need)
        fields.push_back({"error/need", *cause.need});
    if (!cause.remedy.empty())
        fields.push_back({"error/remedy", cause.remedy});
    return fields;
}

void fit(Fields& fields, const Room& room)
{
    for (Field& field : fields)
        if (auto* const word = std::get_if<std::string>(&field.value))
            fit(*word, room.word);
    Field left_out{"left_out", std::uint64_t{0}};
    std::size_t bytes = bytes_of(left_out);
    std::size_t kept = 0;
    for (; kept < fields.size() && kept + 1 < room.fields; ++kept) {
        bytes += bytes_of(fields[kept]);
        if (bytes > room.bytes)
            break;
    }
    if (kept == fields.size())
        return;
    left_out.value = std::uint64_t{fields.size() - kept};
    fields.resize(kept);
    fields.push_back(std::move(left_out));
}

} // namespace mrz::telemetry
