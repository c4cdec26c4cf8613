// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Memory that a program moves data from and to, of the pages that it is to be of.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace mrz::app {

//! Touched, and aligned to its pages, at least to 2 MiB.
class WorkMemory {
  public:
    WorkMemory() = default;
    WorkMemory(const WorkMemory&) = delete;
    WorkMemory& operator=(const WorkMemory&) = delete;
    virtual ~WorkMemory() = default;

    [[nodiscard]] virtual std::span<std::byte> bytes() const noexcept = 0;
    //! As RegionOptions::lasting: it is an arena's.
    [[nodiscard]] virtual bool lasting() const noexcept { return false; }
};

enum class OrdinaryPages {
    small,         //!< 4 KiB, for certain.
    as_the_kernel, //!< As large as the kernel makes by itself.
};
//! Throws Error.
std::unique_ptr<WorkMemory> ordinary_memory(std::size_t length, OrdinaryPages pages);
//! Hugepages as mmap gives them to anyone; \p length is whole pages. Enlarges the pool for as long as it lives.
//! Throws Error.
std::unique_ptr<WorkMemory> hugetlb_memory(std::size_t length, std::size_t page_size);
//! A zone over all of an arena. One can be had in the life of a process, since it starts an EAL. Enlarges the pool
//! for as long as it lives. Throws Error.
std::unique_ptr<WorkMemory> arena_memory(const std::string& name, std::size_t length, std::size_t page_size);

} // namespace mrz::app
