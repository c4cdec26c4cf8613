// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! What the storage workload does: which block is read or written when, and what memory and store hold afterwards.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace bench::storage {

//! The part of operations that go to the hot part of memory, and how large that is, in percent.
inline constexpr unsigned hot_operations = 80;
inline constexpr unsigned hot_memory = 20;

//! One I/O of a block: read brings it from the store into memory, write the other way.
struct Operation {
    std::uint32_t block = 0;
    bool write = false;
    bool fence = false; //!< Reads that are under way touch its block.
};

struct WorkloadOptions {
    std::size_t block_size = 0; //!< Bytes.
    std::size_t blocks = 0;
    std::size_t run = 1;     //!< Blocks in a row that are hot together; there are at least five such runs.
    std::size_t warm_up = 0; //!< Blocks that are used once before all else: the hot ones first, then others.
    std::size_t timed = 0;   //!< Operations.
    std::size_t depth = 1;   //!< Operations that may be under way.
    unsigned read_percent = 100;
};

class Workload {
  public:
    explicit Workload(const WorkloadOptions& options);

    //! After the blocks of WorkloadOptions::warm_up three times as many at random, and half as many as are timed at
    //! least: so that a tier is as it is in the long run, when almost each hot block was used after the cold ones
    //! that go.
    [[nodiscard]] std::span<const Operation> warm_up() const noexcept
    {
        return std::span{operations_}.first(operations_.size() - timed_);
    }
    [[nodiscard]] std::span<const Operation> timed() const noexcept { return std::span{operations_}.last(timed_); }
    [[nodiscard]] std::span<const Operation> all() const noexcept { return operations_; }

  private:
    std::vector<Operation> operations_;
    std::size_t timed_;
};

//! Fills both sides with words that tell the side and the place.
void fill(std::span<std::byte> memory, std::span<std::byte> store);
//! Throws std::runtime_error, naming the first wrong byte's place, unless both sides, which fill() had filled, are
//! what \p operations in their order make of them. Looks at every byte.
void check(std::span<const std::byte> memory, std::span<const std::byte> store, std::span<const Operation> operations,
           std::size_t block_size);

} // namespace bench::storage
