// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Hugepages held by memory files without a name.
#pragma once

#include <mrzone/hugepage.hpp>

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace mrz::hugepage {

//! Where a page is kept.
struct PageAt {
    std::size_t file = 0;   // Index among the files.
    std::size_t offset = 0; // Bytes.
    std::size_t length = 0; // The page size.
};

//! Gives one page back to its pool. Cannot fail on a file of ours; if it does, closing the file gives it back.
void punch(int fd, const PageAt& page) noexcept;

//! Files of pages of one size. A file's pages are its first ones, without holes. What is still held when it is
//! destroyed goes back, last page first, so that the pool's free list is as it was.
class PageFiles {
  public:
    struct File {
        FileDescriptor fd;
        std::size_t pages = 0;
    };

    //! Makes \p count empty files. Throws Error.
    PageFiles(std::size_t page_size, std::size_t count);
    PageFiles(PageFiles&&) = default;
    //! What this one had goes back when \p other is destroyed.
    PageFiles& operator=(PageFiles&& other) noexcept
    {
        std::swap(page_size_, other.page_size_);
        files_.swap(other.files_);
        return *this;
    }
    ~PageFiles();

    [[nodiscard]] std::size_t page_size() const noexcept { return page_size_; }
    [[nodiscard]] std::span<File> files() noexcept { return files_; }
    [[nodiscard]] std::span<const File> files() const noexcept { return files_; }
    [[nodiscard]] std::size_t pages() const noexcept;
    //! All pages, file by file, with \p first_file the index of the first file.
    [[nodiscard]] std::vector<PageAt> list(std::size_t first_file) const;

    //! Moves the descriptors to the end of \p to: from here on the pages are its owner's.
    void hand_over(std::vector<FileDescriptor>& to);

  private:
    std::size_t page_size_;
    std::vector<File> files_;
};

} // namespace mrz::hugepage
