// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! What the control socket can be asked: a registry that the parts of the device fill.
#pragma once

#include <nlohmann/json.hpp>

#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace mrz::control {

//! Key order is the order of writing.
using Json = nlohmann::ordered_json;

//! Whether a command changes anything: it is part of its name.
enum class Verb { get, set };

//! A request is an object: {"get": NAME, ARGUMENT: VALUE, ...}, or with "set". An answer is {"answer": ...}, or
//! {"error": TEXT, "errno": NUMBER}.
//!
//! Filled before it is used; answer() is called by the control socket's thread.
class Commands {
  public:
    //! Gets the whole request. It throws Error for what cannot be done.
    using Function = std::function<Json(const Json& request)>;

    //! "get commands" is there from the start: it shows all.
    Commands();

    //! \p description says what it is for and which arguments it takes. A name that is taken is a fault in the
    //! program: std::logic_error.
    void add(Verb verb, std::string_view name, std::string_view description, Function run);
    [[nodiscard]] Json answer(std::string_view line) const;
    //! The answer that says what is wrong.
    [[nodiscard]] static Json error(int number, const std::string& text);

  private:
    struct Command {
        std::string description;
        Function run;
    };
    [[nodiscard]] Json all() const;
    [[nodiscard]] const Command& find(const Json& request) const;

    std::map<std::string, Command, std::less<>> commands_; //!< By "get NAME", "set NAME".
};

//! An argument of a request; \p otherwise where there is none. Throws Error (invalid, EINVAL) for another type, or
//! for a number of more than \p most.
[[nodiscard]] std::uint64_t number_of(const Json& request, const char* name, std::uint64_t otherwise,
                                      std::uint64_t most = ~std::uint64_t{0});
//! The same, of one that has to be there.
[[nodiscard]] std::uint64_t number_of(const Json& request, const char* name);

} // namespace mrz::control
