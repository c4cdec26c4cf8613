// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Why memory cannot be pinned, from what this host and process allow.
#pragma once

#include <mrzone/base.hpp>

#include <cstddef>
#include <span>
#include <string>

namespace mrz::soft {

//! Refuses a piece of memory that cannot be registered whatever the kernel says: throws Error, invalid (EFAULT) for a
//! byte that is not mapped, permission (EFAULT) for a mapping that may not be read and written.
void check_mappings(std::span<const std::span<std::byte>> memories);
//! Explains the errno that pinning \p pages ended with.
Error pin_failure(int error, std::span<std::byte> pages);
//! Explains the errno that making a ring ended with; \p what says what it was to be made for.
Error ring_failure(int error, std::string what);

} // namespace mrz::soft
