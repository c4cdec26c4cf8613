// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Asking the kernel for some of this process's mappings, instead of reading all of them as text. Private to this
//! floor.
#pragma once

#include <mrzone/host.hpp>

#include <cstdint>
#include <optional>
#include <vector>

namespace mrz::host {

//! The mappings that [begin, last] touches, in ascending order. Nothing where the kernel does not answer (before
//! Linux 6.11, or where the file below \p root is an ordinary one).
std::optional<std::vector<MappedMemory>> query_mappings(std::uint64_t begin, std::uint64_t last, const Root& root);

} // namespace mrz::host
