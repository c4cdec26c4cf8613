// SPDX-License-Identifier: BSD-3-Clause
#include "fields.hpp"

#include <string_view>

namespace mrz::app {

Json to_json(const Fields& fields)
{
    Json object = Json::object();
    for (const Field& field : fields)
        std::visit([&](const auto& value) { object[Json::json_pointer{"/" + field.name}] = value; }, field.value);
    return object;
}

std::string to_text(std::string_view title, const Fields& fields)
{
    std::string text{title};
    std::string_view part;
    bool first = true;
    for (const Field& field : fields) {
        const std::string_view name = field.name;
        const std::size_t slash = name.rfind('/');
        const std::string_view its_part = slash == std::string_view::npos ? "" : name.substr(0, slash);
        if (its_part != part) {
            text += fmt::format("\n  {}", its_part);
            part = its_part;
            first = true;
        }
        text +=
            fmt::format("{} {} ", first ? ":" : ",", slash == std::string_view::npos ? name : name.substr(slash + 1));
        std::visit([&](const auto& value) { text += fmt::format("{}", value); }, field.value);
        first = false;
    }
    return text + "\n";
}

} // namespace mrz::app
