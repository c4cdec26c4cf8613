// SPDX-License-Identifier: BSD-3-Clause
#include <mrzone/host.hpp>

#include "files.hpp"
#include "parse.hpp"

#include <cerrno>
#include <memory>

#include <dirent.h>

namespace mrz::host {
namespace {

struct Closer {
    void operator()(DIR* folder) const noexcept { closedir(folder); }
};

} // namespace

std::filesystem::path Root::operator()(std::string_view absolute) const
{
    // An absolute right-hand side of operator/ would replace the prefix.
    const auto first = absolute.find_first_not_of('/');
    return first == std::string_view::npos ? prefix_ : prefix_ / absolute.substr(first);
}

std::optional<std::string> Root::text(std::string_view absolute) const
{
    std::string text;
    if (!read_in_chunks((*this)(absolute), [&](std::string_view chunk) { text += chunk; }))
        return std::nullopt;
    return text;
}

std::optional<std::uint64_t> Root::number(std::string_view absolute) const
{
    const auto whole = text(absolute);
    return whole ? to_number(without_newline(*whole)) : std::nullopt;
}

std::optional<std::vector<std::string>> Root::names(std::string_view absolute) const
{
    // libstdc++'s directory_iterator ends the program where there is no memory for it (version 12).
    const std::unique_ptr<DIR, Closer> folder{opendir((*this)(absolute).c_str())};
    if (!folder)
        return std::nullopt;
    std::vector<std::string> names;
    while (true) {
        errno = 0;
        const dirent* entry = readdir(folder.get());
        if (entry == nullptr)
            return errno == 0 ? std::optional{std::move(names)} : std::nullopt;
        const std::string_view name = entry->d_name;
        if (name != "." && name != "..")
            names.emplace_back(name);
    }
}

} // namespace mrz::host
