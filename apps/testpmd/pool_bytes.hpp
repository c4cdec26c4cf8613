// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! How much memory a pool takes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace mrz::testpmd {

//! Bytes for a pool of \p count objects, each with \p object bytes of its own, of which none crosses a page: them,
//! the pool's ring and header with the lcores' caches, and what the heap needs for itself. An upper bound.
std::size_t pool_bytes(std::uint32_t count, std::size_t object, std::size_t page_size);

//! Bytes of the EAL's own pages, of which pools in plain DPDK memory are made here.
constexpr std::size_t native_page_size = std::size_t{2} << 20;
//! Of those, pages for so many bytes.
std::uint64_t native_pages(std::size_t bytes) noexcept;
//! "it takes 40 MiB that the EAL has not; try: …".
std::string how_to_give(std::size_t bytes);

} // namespace mrz::testpmd
