// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Making pages present. Private to this floor.
#pragma once

#include <cstddef>
#include <span>

namespace mrz {

//! Lets every page that \p memories touch be there: for writing where its mapping allows that, else for reading. What
//! cannot be populated for want of a mapping, or because it is a device's, is left to whoever pins it to refuse.
//! Throws Error (EFAULT) where the pages are not to be had: cgroup or hugepages for hugepages, else invalid.
void populate(std::span<const std::span<const std::byte>> memories);

} // namespace mrz
