// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! What programs say: results on standard output, everything else on standard error.
#pragma once

#include <mrzone/base.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace mrz::app {

//! Key order is the order of writing: what a person reads first comes first.
using Json = nlohmann::ordered_json;

//! The version of every object that a program prints.
constexpr int json_schema = 1;

//! Writes text, or one object, to standard output, and makes sure that it arrived.
//! Throws Error (internal) if it cannot be written.
void print_text(std::string_view text);
void print_json(const Json& object);

//! One line on standard error, behind the program's name.
void say(std::string_view line);
template <class... Args>
void say(fmt::format_string<Args...> format, Args&&... args)
{
    say(std::string_view{fmt::format(format, std::forward<Args>(args)...)});
}

//! The "error" object, with the schema.
Json error_to_json(int error_number, const Cause& cause);

//! Runs a program's work and gives its exit status. Any exception is said on standard error and, if \p json, as the
//! one object on standard output.
int run_and_report(bool json, const std::function<void()>& work) noexcept;
//! Says an error in the same way. \return the exit status.
int report_error(bool json, int error_number, const Cause& cause) noexcept;

//! Columns that are as wide as their widest cell.
class Table {
  public:
    //! A column is aligned to the right if its heading begins with '>', which is not printed.
    explicit Table(std::vector<std::string> headings);
    void add(std::vector<std::string> cells);
    [[nodiscard]] std::string text() const;

  private:
    std::vector<bool> right_;
    std::vector<std::vector<std::string>> rows_;
};

} // namespace mrz::app
