// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Hugepages of the EAL's own for a pool in plain DPDK memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace mrz::testpmd {

//! Bytes of the EAL's pages, which such pools are made of here.
constexpr std::size_t native_page_size = std::size_t{2} << 20;

//! Bytes of the objects of a pool, each with \p object bytes of its own.
std::size_t object_bytes(std::uint32_t count, std::size_t object) noexcept;
//! Pages for so many bytes of objects, the pool's ring and the heap's own.
std::uint64_t native_pages(std::size_t bytes) noexcept;
//! "it takes 40 MiB that the EAL has not; try: …".
std::string how_to_give(std::size_t bytes);

} // namespace mrz::testpmd
