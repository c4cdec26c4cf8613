// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! What the programs have changed in the machine's page pools, written down before it happens, so that whatever ends
//! a program, a later one can undo it.
#pragma once

#include "process_id.hpp"

#include <mrzone/hugepage.hpp>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace mrz::app {

//! A count of pages on one node, or on a machine without nodes.
struct NodePages {
    std::optional<int> node;
    std::uint64_t pages = 0;

    friend bool operator==(const NodePages&, const NodePages&) = default;
};

//! A pool's size as it was before the first `mrz pools set`.
struct SetRecord {
    std::size_t page_size = 0;
    std::vector<NodePages> before;
    //! The change under way that made this record, and takes it along if it is undone; 0 once that is done.
    std::uint64_t made_by = 0;
};

//! Something that its owner is going to undo itself.
struct OwnedChange {
    enum class State {
        //! Under way: if it is found so, its owner died in the middle, and the pool goes to `nodes`.
        changing,
        //! The owner holds `nodes` pages more than the pool would have.
        held,
    };
    ProcessId owner;
    std::string command; //!< The owner's name, for people.
    std::uint64_t serial = 0;
    std::size_t page_size = 0;
    State state = State::held;
    std::vector<NodePages> nodes;
    //! How many pages of that pool the owner is going to use, whoever added them; some it may have taken already.
    NodePages claim{};
};

//! The journal's file, locked while this lives. One thread, and never two in one process at a time.
class PoolJournal {
  public:
    //! Takes the lock, waiting for other programs. Throws Error: permission; invalid if the file is not a journal;
    //! Interrupted while waiting.
    explicit PoolJournal(const std::filesystem::path& folder);
    //! Leaves no file behind if there is nothing to remember. Does not save.
    ~PoolJournal();
    PoolJournal(const PoolJournal&) = delete;
    PoolJournal& operator=(const PoolJournal&) = delete;

    //! $MRZ_RUN_DIR, or /run/mrzone.
    static std::filesystem::path default_folder();
    //! Whether there may be anything to remember or to tidy away, without taking the lock.
    static bool exists(const std::filesystem::path& folder);

    //! Writes all of it to stable storage, in one step: a reader sees the old or the new.
    void save();

    [[nodiscard]] std::uint64_t next_serial() const;
    //! The change with this serial; nullptr if there is none.
    [[nodiscard]] OwnedChange* find(std::uint64_t serial);
    //! Forgets a change that was done, or undone: then with the record that it made.
    void erase_done(std::uint64_t serial);
    void erase_undone(std::uint64_t serial);

    std::vector<SetRecord> sets;
    std::vector<OwnedChange> owned;

  private:
    void make_folder() const;
    void lock();
    void read();

    std::filesystem::path folder_;
    FileDescriptor lock_;
};

} // namespace mrz::app
