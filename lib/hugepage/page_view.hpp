// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Looks at where files' pages lie, and maps files.
#pragma once

#include "page_files.hpp"

#include <mrzone/hugepage.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>

namespace mrz::hugepage {

//! Maps a part of a file at an address of ours, for reading and writing. Throws Error: invalid (ENOMEM) naming
//! vm.max_map_count or the address space; internal otherwise.
void map_at(std::uintptr_t address, std::size_t length, int fd, std::size_t offset);
//! Fills the page tables for a range whose pages exist, so that nothing faults there later. Throws Error.
void populate(std::uintptr_t address, std::size_t length);

//! The frames of all pages of \p files, in the order of PageFiles::list(), through a mapping for the moment.
//! Throws Error: hugepages if a page lies on another node than \p node; as map_at() and populate().
Frames frames_of(const PageFiles& files, std::optional<int> node);

} // namespace mrz::hugepage
