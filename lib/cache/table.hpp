// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! What a hit searches: made anew for each change, and never changed once published. Private to this floor.
//!
//! A change makes a table of the newest regions only, which is searched before the table of all that were there when
//! that was made last: its base. So a change costs about the square root of the number of regions.
#pragma once

#include <mrzone/base.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace mrz::cache {

//! Where a region ends, and which it is. Its mark tells whether it is there still.
struct Entry {
    std::uintptr_t end = 0; //!< One past the last byte.
    std::uint32_t index = 0;
    Access access = Access::local_read;
};
struct Row {
    std::uintptr_t begin = 0;
    Entry entry = {};
};

class Table {
  public:
    Table() { rebuild({}); }
    //! \p rows in order of begin. What it throws leaves a table that finds nothing wrong.
    //! \p base is to be searched where this one has no entry that serves. Rows of it that are gone must be covered by
    //! others here, of the same rights: else they may hide some that are not.
    void rebuild(std::span<const Row> rows, std::shared_ptr<const Table> base = nullptr);
    void forget_base() noexcept { base_.reset(); }
    [[nodiscard]] const std::shared_ptr<const Table>& shared_base() const noexcept { return base_; }
    //! nullptr if there is none.
    [[nodiscard]] const Table* base() const noexcept { return base_.get(); }

    //! An entry that covers [begin, end) with local rights only, if there is one; else one whose end is less.
    [[nodiscard]] const Entry& find_local(std::uintptr_t begin, Access access) const noexcept
    {
        const Column& column = reads_apart_ && !grants(access, Access::local_write) ? readable_ : writable_;
        return column.entries[column.last_from(begin)];
    }
    //! The entry of exactly this range and these rights; nullptr if there is none.
    [[nodiscard]] const Entry* find_exact(std::uintptr_t begin, std::uintptr_t end, Access access) const noexcept;

  private:
    //! Begins ascend from 0, which stands for "before all". Of local-only ones an entry is the one with the farthest
    //! end of all that begin there or before: if any covers a range that begins there, it does.
    struct Column {
        std::vector<std::uintptr_t> begins;
        std::vector<Entry> entries;

        void clear();
        void add(const Row& row);
        void add_farthest(const Row& row);
        //! Without a branch that depends on the data: such branches are what a search costs.
        [[nodiscard]] std::size_t last_from(std::uintptr_t address) const noexcept
        {
            const std::uintptr_t* at = begins.data();
            for (std::size_t left = begins.size(); left > 1;) {
                const std::size_t half = left / 2;
                at = at[half] <= address ? at + half : at;
                left -= half;
            }
            return static_cast<std::size_t>(at - begins.data());
        }
    };
    Column writable_; //!< Local-only regions that grant writing.
    Column readable_; //!< All local-only ones; empty if these are the same.
    Column remote_;
    bool reads_apart_ = false;
    std::shared_ptr<const Table> base_;
};

} // namespace mrz::cache
