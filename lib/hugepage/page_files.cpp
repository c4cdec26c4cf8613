// SPDX-License-Identifier: BSD-3-Clause
#include "page_files.hpp"

#include <bit>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <linux/memfd.h>
#include <sys/mman.h>

// Linux 6.3; Debian 12's headers are older.
#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U
#endif

namespace mrz::hugepage {
namespace {

FileDescriptor create(std::size_t page_size)
{
    const unsigned size = static_cast<unsigned>(std::countr_zero(page_size)) << MFD_HUGE_SHIFT;
    const unsigned flags = MFD_CLOEXEC | MFD_HUGETLB | size;
    // Where vm.memfd_noexec is 2, files that could be executed are refused; older kernels do not know the flag.
    int fd = ::memfd_create("mrzone", flags | MFD_NOEXEC_SEAL);
    if (fd < 0 && errno == EINVAL)
        fd = ::memfd_create("mrzone", flags);
    if (fd >= 0)
        return FileDescriptor{fd};

    const int error = errno;
    Cause cause{.trouble = Trouble::unsupported,
                .what = "a memory file of " + format_size(page_size) + " hugepages",
                .limit = std::string{"memfd_create: "} + std::strerror(error),
                .remedy = "a kernel with CONFIG_HUGETLBFS and this page size is needed"};
    if (error == EMFILE || error == ENFILE) {
        cause.trouble = Trouble::invalid;
        cause.remedy = error == EMFILE ? "try: ulimit -n 4096" : "try: sysctl fs.file-max=1000000";
    } else if (error == EPERM || error == EACCES) {
        cause.trouble = Trouble::permission;
        cause.remedy = "allow memfd_create in the container's seccomp profile";
    }
    throw Error{error, std::move(cause)};
}

} // namespace

void punch(int fd, const PageAt& page) noexcept
{
    while (::fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(page.offset),
                       static_cast<off_t>(page.length)) != 0 &&
           errno == EINTR) {
    }
}

PageFiles::PageFiles(std::size_t page_size, std::size_t count) : page_size_{page_size}
{
    files_.reserve(count);
    for (std::size_t i = 0; i < count; ++i)
        files_.push_back({.fd = create(page_size)});
}

PageFiles::~PageFiles()
{
    // The last first, as every giving back here. (clang 14 cannot compile this library's reversed views.)
    for (auto file = files_.rbegin(); file != files_.rend(); ++file)
        for (std::size_t page = file->pages; page-- > 0;)
            punch(file->fd.get(), {.offset = page * page_size_, .length = page_size_});
}

std::size_t PageFiles::pages() const noexcept
{
    std::size_t pages = 0;
    for (const File& file : files_)
        pages += file.pages;
    return pages;
}

std::vector<PageAt> PageFiles::list(std::size_t first_file) const
{
    std::vector<PageAt> list;
    list.reserve(pages());
    for (std::size_t file = 0; file < files_.size(); ++file)
        for (std::size_t page = 0; page < files_[file].pages; ++page)
            list.push_back({.file = first_file + file, .offset = page * page_size_, .length = page_size_});
    return list;
}

void PageFiles::hand_over(std::vector<FileDescriptor>& to)
{
    to.reserve(to.size() + files_.size());
    for (File& file : files_)
        to.push_back(std::move(file.fd));
    files_.clear();
}

} // namespace mrz::hugepage
