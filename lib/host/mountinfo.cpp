// SPDX-License-Identifier: BSD-3-Clause
#include "mountinfo.hpp"

#include "parse.hpp"

#include <algorithm>

namespace mrz::host {
namespace {

bool is_octal(char c)
{
    return c >= '0' && c <= '7';
}

// The kernel writes space, tab, newline and backslash as \ and three octal digits (fs/proc_namespace.c, mangle()).
std::string unescape(std::string_view text)
{
    std::string result;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const std::string_view digits = text.substr(i + 1, 3);
        if (text[i] == '\\' && digits.size() == 3 && std::ranges::all_of(digits, is_octal)) {
            result += static_cast<char>((digits[0] - '0') << 6 | (digits[1] - '0') << 3 | (digits[2] - '0'));
            i += 3;
        } else {
            result += text[i];
        }
    }
    return result;
}

std::optional<Mount> to_mount(std::string_view line)
{
    // Single spaces: a mount without a source has an empty field, which words() would lose.
    const auto fields = split(line, ' ');
    // The optional fields, of any number, end at a "-".
    constexpr std::ptrdiff_t fixed = 6;
    if (fields.size() < fixed)
        return std::nullopt;
    const auto dash = std::find(fields.begin() + fixed, fields.end(), "-");
    if (fields.end() - dash < 4)
        return std::nullopt;
    const auto id = to_number(fields[0]);
    const auto parent = to_number(fields[1]);
    if (!id || !parent || !fields[4].starts_with('/'))
        return std::nullopt;
    return Mount{.id = *id,
                 .parent = *parent,
                 .root = unescape(fields[3]),
                 .point = unescape(fields[4]),
                 .options = std::string{fields[5]},
                 .type = std::string{dash[1]},
                 .super_options = unescape(dash[3])};
}

// Whether \p over hides \p mount from look-ups of its mount point: stacked upon it, or on a folder above it. Nothing
// hides "/", where look-ups begin.
bool covers(const Mount& over, const Mount& mount)
{
    if (mount.point == "/" || over.id == mount.id)
        return false;
    if (over.parent == mount.id)
        return over.point == mount.point;
    return over.parent == mount.parent && over.point != mount.point && below(over.point, mount.point);
}

bool is_visible(const Mount& mount, const std::vector<Mount>& all)
{
    const Mount* at = &mount;
    const Mount* from = nullptr;
    // Bounded, since a file that makes no sense may name parents in a circle.
    for (std::size_t step = 0; step < all.size(); ++step) {
        // What is stacked upon its parent covers it, but is itself the way that was taken.
        if (std::ranges::any_of(all, [&](const Mount& over) { return &over != from && covers(over, *at); }))
            return false;
        const auto parent = std::ranges::find(all, at->parent, &Mount::id);
        if (parent == all.end() || &*parent == at)
            return true;
        from = at;
        at = &*parent;
    }
    return true;
}

} // namespace

std::optional<std::vector<Mount>> visible_mounts(const Root& root, std::string_view type)
{
    const auto text = root.text("/proc/self/mountinfo");
    if (!text)
        return std::nullopt;
    std::vector<Mount> all;
    for (const std::string_view line : lines(*text))
        if (auto mount = to_mount(line))
            all.push_back(std::move(*mount));
    std::vector<Mount> result;
    std::ranges::copy_if(all, std::back_inserter(result),
                         [&](const Mount& mount) { return mount.type == type && is_visible(mount, all); });
    return result;
}

bool has_option(std::string_view options, std::string_view name)
{
    return std::ranges::count(split(options, ','), name) != 0;
}

std::optional<std::string_view> option_value(std::string_view options, std::string_view name)
{
    for (const std::string_view option : split(options, ','))
        if (option.starts_with(name) && option.substr(name.size()).starts_with('='))
            return option.substr(name.size() + 1);
    return std::nullopt;
}

std::optional<std::string_view> below(std::string_view folder, std::string_view path)
{
    if (folder.ends_with('/'))
        folder.remove_suffix(1);
    if (path.ends_with('/'))
        path.remove_suffix(1);
    if (!path.starts_with(folder))
        return std::nullopt;
    path.remove_prefix(folder.size());
    if (!path.empty() && !path.starts_with('/'))
        return std::nullopt;
    return path;
}

} // namespace mrz::host
