// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! What libhugetlbfs says of this machine. The only place that uses it: it replaces shmget() and reads the
//! environment before main().
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <vector>

namespace mrz::app {

//! Hugepage sizes in bytes, ascending.
std::vector<std::size_t> hugetlbfs_page_sizes();
//! The mount that libhugetlbfs gives programs for pages of that size; none if there is no such mount that this user
//! may write to.
std::optional<std::filesystem::path> hugetlbfs_mount_for(std::size_t page_size);

} // namespace mrz::app
