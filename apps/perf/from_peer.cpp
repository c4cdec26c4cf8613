// SPDX-License-Identifier: BSD-3-Clause
#include "from_peer.hpp"

#include <cmath>

namespace mrz::perf {

void refuse_message(std::string limit)
{
    throw Error{EPROTO,
                {.trouble = Trouble::peer,
                 .what = "a message of the other end",
                 .limit = std::move(limit),
                 .remedy = "use the same mrz-perf at both ends"}};
}

const app::Json& member(const app::Json& object, std::string_view name)
{
    const auto found = object.is_object() ? object.find(name) : object.end();
    if (found == object.end())
        refuse_message("it lacks \"" + std::string{name} + "\"");
    return *found;
}

std::uint64_t number_from(const app::Json& object, std::string_view name, std::uint64_t most)
{
    const app::Json& value = member(object, name);
    if (!value.is_number_unsigned() || value.get<std::uint64_t>() > most)
        refuse_message(std::string{name} + " is not a whole number up to " + std::to_string(most));
    return value.get<std::uint64_t>();
}

double real_from(const app::Json& object, std::string_view name)
{
    const app::Json& value = member(object, name);
    const double number = value.is_number() ? value.get<double>() : -1;
    if (!(number >= 0) || !std::isfinite(number))
        refuse_message(std::string{name} + " is not a number from 0 on");
    return number;
}

bool flag_from(const app::Json& object, std::string_view name)
{
    const app::Json& value = member(object, name);
    if (!value.is_boolean())
        refuse_message(std::string{name} + " is neither true nor false");
    return value.get<bool>();
}

std::string text_from(const app::Json& object, std::string_view name, std::size_t most)
{
    const app::Json& value = member(object, name);
    if (!value.is_string() || value.get_ref<const std::string&>().size() > most)
        refuse_message(std::string{name} + " is no text of at most " + std::to_string(most) + " bytes");
    return printable(value.get_ref<const std::string&>());
}

} // namespace mrz::perf
