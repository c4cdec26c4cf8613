// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! The mounts that this process sees. Private to this floor.
#pragma once

#include <mrzone/host.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mrz::host {

//! A line of /proc/self/mountinfo (proc(5)).
struct Mount {
    std::uint64_t id = 0;
    std::uint64_t parent = 0;
    std::string root;          //!< Which folder of the file system is mounted.
    std::string point;         //!< Where.
    std::string options;       //!< Of this mount.
    std::string type;          //!< The file system's.
    std::string super_options; //!< Of the file system.
};

//! The mounts of one file system type whose mount point leads to them, in the kernel's order: later mounts may cover
//! earlier ones. Nothing if they cannot be read; lines that make no sense are passed over.
std::optional<std::vector<Mount>> visible_mounts(const Root& root, std::string_view type);

//! Whether a comma-separated list of options has this one.
bool has_option(std::string_view options, std::string_view name);
//! What follows "name=" in it.
std::optional<std::string_view> option_value(std::string_view options, std::string_view name);

//! What is left of \p path below \p folder: "" if they are the same, else "/…"; nothing if it is not below.
std::optional<std::string_view> below(std::string_view folder, std::string_view path);

} // namespace mrz::host
