// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Would it fit? Refusals with their cause, before anything is touched; and the cause where it did not fit after all.
#pragma once

#include <mrzone/hugepage.hpp>

#include <cstdint>
#include <optional>

namespace mrz::hugepage {

//! Pages of one size that a build takes.
struct PageNeed {
    std::size_t page_size = 0;
    std::uint64_t pages = 0;

    [[nodiscard]] std::uint64_t bytes() const noexcept { return pages * page_size; }
};

//! What a window of these options takes: one entry where block and header have the same pages, else two, the block's
//! first. Throws Error: invalid for a request that makes no sense or is beyond the machine; hugepages for a page size
//! or node that is not there.
std::vector<PageNeed> needs_of(const WindowOptions& options, const host::Root& root = {});

//! Throws Error: hugepages or cgroup if the pool or a control group would not give the pages now.
void check_pages(const PageNeed& need, std::optional<int> node, const host::Root& root = {});
//! Throws Error: invalid (ENOMEM) if vm.max_map_count would not allow \p more mappings.
void check_mappings(std::uint64_t more, const host::Root& root = {});
//! Throws Error: invalid (EFBIG) if a file of \p bytes would be over the process's file size limit, which the kernel
//! enforces by a signal.
void check_file_size(std::uint64_t bytes);

//! Pages that could be taken beyond a build's need without overcommit and within all limits known.
std::uint64_t spare_pages(std::size_t page_size, std::optional<int> node, const host::Root& root = {});

//! Why taking stopped with \p error when \p missing was still to come: the facts are read again.
Error taking_failed(int error, const PageNeed& missing, std::optional<int> node, const host::Root& root = {});

} // namespace mrz::hugepage
