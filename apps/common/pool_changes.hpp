// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Changes to the machine's page pools that can all be undone.
#pragma once

#include "pool_journal.hpp"
#include "pool_request.hpp"

#include <mrzone/host.hpp>
#include <mrzone/hugepage.hpp>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

namespace mrz::app {

//! Which machine, and where its journal is. Tests give a made-up one.
struct PoolMachine {
    host::Root root{};
    std::filesystem::path run_dir = PoolJournal::default_folder();
};

//! One pool that went from one size to another. Counts are pages, without surplus.
struct PoolStep {
    std::size_t page_size = 0;
    std::optional<int> node;
    std::uint64_t before = 0;
    std::uint64_t asked = 0;
    std::uint64_t obtained = 0;
    std::uint64_t in_use_beyond = 0; //!< Pages beyond `asked` that are in use and leave the pool when they are freed.
};

//! Whether the kernel may be asked to move memory about, which takes seconds, to make more hugepages.
enum class Effort { light, compact };

//! What was added to a pool for a while.
struct Growth {
    std::uint64_t serial = 0;
    std::uint64_t pages = 0;
};

//! Holds the journal, and so the right to change pools, while it lives. What dead programs left is undone first, and
//! said. For one thread.
class PoolChanges {
  public:
    explicit PoolChanges(PoolMachine machine = {});

    //! What the constructor had to undo.
    [[nodiscard]] const std::vector<PoolStep>& undone() const noexcept { return undone_; }

    //! Sets a pool, and remembers what it was before the first time. Pages that running programs hold for a while are
    //! added on top. Grows by whole gigabytes where the kernel has them, as grow(). Throws Error: hugepages, with the
    //! pool as it was, if the kernel gives fewer; permission.
    PoolStep set(const PoolRequest& request);
    //! What set() would do. Changes nothing.
    static PoolStep preview(const PoolRequest& request, const PoolMachine& machine = {});
    //! Undoes every set(). Throws Error: hugepages if the kernel does not give back what was there; then it is still
    //! remembered.
    std::vector<PoolStep> restore();

    //! Pages that are available and that no other running program enlarged the pool for.
    [[nodiscard]] std::uint64_t unclaimed(std::size_t page_size, std::optional<int> node) const;
    //! Makes \p needed unclaimed ones available for this process, for a while, by adding what is missing: whole
    //! gigabytes where the kernel has them, so that there is something to place well. Throws Error as set() does.
    //! \return what give_back() takes; none if nothing was missing.
    std::optional<Growth> grow(std::size_t page_size, std::optional<int> node, std::uint64_t needed, Effort effort);
    //! Takes away what grow() added, whatever else became of the pool.
    PoolStep give_back(std::uint64_t serial);

  private:
    void undo_abandoned();
    //! Pages that running programs hold in a pool.
    [[nodiscard]] std::uint64_t held(std::size_t page_size, std::optional<int> node) const;
    //! Resizes to what \p nodes say. Not to be stopped half-way by a signal.
    std::vector<PoolStep> go_to(std::size_t page_size, const std::vector<NodePages>& nodes);
    //! Notes that a pool is about to be changed by this process; \return the serial.
    std::uint64_t begin_change(std::size_t page_size);
    //! Back to what it was when begin_change() was called.
    void cancel_change(std::uint64_t serial);
    //! Adds as many whole gigabytes as fit into \p pages to the pool of 2-MiB pages, or fewer.
    void add_gigabytes(std::optional<int> node, std::uint64_t pages);
    PoolChange resize(const PoolRequest& request, Effort effort);

    PoolMachine machine_;
    PoolJournal journal_;
    std::vector<PoolStep> undone_;
};

//! Undoes what dead programs left, if there may be anything. For programs that are about to do something else; a user
//! who may not do it is told so.
std::vector<PoolStep> undo_what_a_kill_left(const PoolMachine& machine = {});

//! As PoolChanges::unclaimed(). A user who may not take the journal's lock gets all that is available.
std::uint64_t unclaimed_pages(std::size_t page_size, std::optional<int> node, const PoolMachine& machine = {});

} // namespace mrz::app
