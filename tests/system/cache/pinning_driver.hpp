// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! A device that reaches the very pages that it pinned, as a NIC does, whatever is mapped at their addresses now. The
//! software adapter would not show a stale key: it finds registered memory by its virtual address.
#pragma once

#include <mrzone/device.hpp>

#include <cstddef>
#include <span>

namespace mrz::test {

//! Whether io_uring is to be had, which pins and carries here.
bool has_pinning_device();

enum class Way { out_of_memory, into_memory };
//! Carries bytes between memory that a key is for, named by its virtual addresses, and \p outside, of the same
//! length. False if there is no such key or it is not for all of the memory. Thread-safe.
bool carry(Way way, LKey key, std::span<std::byte> memory, std::span<std::byte> outside);

} // namespace mrz::test
