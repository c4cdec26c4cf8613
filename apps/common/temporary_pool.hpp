// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Enough hugepages for as long as a program needs them.
#pragma once

#include "pool_changes.hpp"

#include <cstdint>
#include <optional>

namespace mrz::app {

//! Sees to it that a pool has enough pages available: grows it by what is missing, says so, and gives that back when
//! it is destroyed, or lets the next program do so if this one is killed. To be destroyed after whatever uses the
//! pages. Not thread-safe.
class TemporaryPool {
  public:
    //! Throws Error: hugepages or permission, with nothing changed.
    TemporaryPool(std::size_t page_size, std::optional<int> node, std::uint64_t pages_needed,
                  Effort effort = Effort::compact, PoolMachine machine = {});
    ~TemporaryPool();
    TemporaryPool(TemporaryPool&& other) noexcept;
    TemporaryPool& operator=(TemporaryPool&&) = delete;

    //! Pages that were added; 0 if there were enough.
    [[nodiscard]] std::uint64_t added() const noexcept { return added_; }

  private:
    PoolMachine machine_;
    std::optional<std::uint64_t> serial_;
    std::uint64_t added_ = 0;
};

} // namespace mrz::app
