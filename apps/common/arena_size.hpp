// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Which sizes an arena on this machine can have at all.
#pragma once

#include <cstddef>
#include <string_view>

namespace mrz::app {

//! Throws Error (hugepages, ENOMEM) for more bytes than the machine has memory, where it says how much.
void check_machine_has(std::size_t size);

//! Throws Error: hugepages if the kernel lacks the page size, or as check_machine_has(); invalid (EINVAL) unless the
//! size, in bytes, is whole pages and not zero. \p command, say "mrz demo", is what the remedy proposes.
void check_arena_size(std::size_t size, std::size_t page_size, std::string_view command);

} // namespace mrz::app
