// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Whether pages lie on the node that they were asked for.
#pragma once

#include <cstddef>
#include <span>

namespace mrz::hugepage {

//! Asks the kernel where each page of a mapped and populated range lies. Throws Error: as check_nodes(); permission
//! if it cannot be asked.
void check_node(std::span<const std::byte> memory, std::size_t page_size, int node);

//! \p nodes is one number a page, or a negative errno where the kernel knows none. Throws Error: hugepages (ENOMEM),
//! naming the node, how many pages lie there and how many should, if any lies elsewhere.
void check_nodes(std::span<const int> nodes, std::size_t page_size, int node);

} // namespace mrz::hugepage
