// SPDX-License-Identifier: BSD-3-Clause
#include "control/commands.hpp"

#include <mrzone/base.hpp>

#include <cerrno>
#include <exception>
#include <stdexcept>
#include <utility>

namespace mrz::control {
namespace {

[[noreturn]] void refuse(std::string limit, std::string remedy)
{
    throw Error{EINVAL,
                {.trouble = Trouble::invalid,
                 .what = "understanding a request",
                 .limit = std::move(limit),
                 .remedy = std::move(remedy)}};
}

} // namespace

Commands::Commands()
{
    add(Verb::get, "commands", "all that there is to ask", [this](const Json&) { return all(); });
}

void Commands::add(Verb verb, std::string_view name, std::string_view description, Function run)
{
    const std::string words = (verb == Verb::get ? "get " : "set ") + std::string{name};
    if (!commands_.try_emplace(words, Command{std::string{description}, std::move(run)}).second)
        throw std::logic_error{"two control commands \"" + words + '"'};
}

Json Commands::all() const
{
    Json list = Json::object();
    for (const auto& [words, command] : commands_)
        list[words] = command.description;
    return list;
}

Json Commands::error(int number, const std::string& text)
{
    return Json{{"error", text}, {"errno", number}};
}

const Commands::Command& Commands::find(const Json& request) const
{
    if (!request.is_object())
        refuse("a line is not a JSON object", R"(say {"get": "commands"})");
    for (const char* const verb : {"get", "set"}) {
        const auto name = request.find(verb);
        if (name == request.end())
            continue;
        if (!name->is_string())
            refuse(std::string{"what to "} + verb + " is no string", R"(say {"get": "commands"})");
        const auto found = commands_.find(verb + (' ' + name->get<std::string>()));
        if (found == commands_.end())
            refuse(std::string{"there is no \""} + verb + ' ' + printable(name->get<std::string>()) + '"',
                   R"(say {"get": "commands"})");
        return found->second;
    }
    refuse("it has neither \"get\" nor \"set\"", R"(say {"get": "commands"})");
}

Json Commands::answer(std::string_view line) const
{
    try {
        const Json request = Json::parse(line, nullptr, false);
        return Json{{"answer", find(request).run(request)}};
    } catch (const Error& refusal) {
        return error(refusal.error_number(), refusal.what());
    } catch (const std::exception& failure) {
        return error(EIO, failure.what());
    }
}

std::uint64_t number_of(const Json& request, const char* name, std::uint64_t otherwise, std::uint64_t most)
{
    const auto found = request.find(name);
    if (found == request.end())
        return otherwise;
    // A number that was written without a sign: others are not unsigned.
    if (!found->is_number_unsigned() || found->get<std::uint64_t>() > most)
        refuse(std::string{"\""} + name + "\" is a number from 0 to " + std::to_string(most), "give such a number");
    return found->get<std::uint64_t>();
}

std::uint64_t number_of(const Json& request, const char* name)
{
    if (!request.contains(name))
        refuse(std::string{"\""} + name + "\" is missing", "give it");
    return number_of(request, name, 0);
}

} // namespace mrz::control
