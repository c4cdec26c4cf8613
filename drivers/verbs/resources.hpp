// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! What there is of a device in all processes, which the kernel tells over netlink (as the program rdma shows it).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace mrz::verbs {

//! How many regions all processes have of the device of that name; nothing where the kernel does not tell.
std::optional<std::uint64_t> regions_of(std::string_view device) noexcept;

//! The same of one answer, of which one message is about the device perhaps.
std::optional<std::uint64_t> regions_in(std::span<const std::byte> answer, std::string_view device) noexcept;

} // namespace mrz::verbs
