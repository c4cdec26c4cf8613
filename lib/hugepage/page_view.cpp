// SPDX-License-Identifier: BSD-3-Clause
#include "page_view.hpp"

#include "page_nodes.hpp"
#include "preflight.hpp"

#include <cerrno>
#include <cstring>

#include <sys/mman.h>

namespace mrz::hugepage {
namespace {

[[noreturn]] void map_failed(int error, std::size_t length)
{
    check_mappings(1); // Says it better, if that was it.
    throw Error{error,
                {.trouble = error == ENOMEM ? Trouble::invalid : Trouble::internal,
                 .what = "mapping " + format_size(length) + " of hugepages",
                 .limit = std::string{"mmap: "} + std::strerror(error),
                 .remedy = error == ENOMEM ? "try: ulimit -v unlimited" : "see the kernel's log"}};
}

void populate(std::uintptr_t address, std::size_t length, int advice)
{
    while (::madvise(reinterpret_cast<void*>(address), length, advice) != 0) {
        if (errno == EINTR || errno == EAGAIN)
            continue;
        const int error = errno;
        throw Error{error,
                    {.trouble = error == EINVAL ? Trouble::unsupported : Trouble::internal,
                     .what = "populating " + format_size(length) + " of hugepages",
                     .limit = std::string{"madvise: "} + std::strerror(error),
                     .remedy = error == EINVAL ? "Linux 5.14 or later is needed" : "see the kernel's log"}};
    }
}

//! One file's pages, mapped for as long as this lives.
class View {
  public:
    View(const PageFiles::File& file, std::size_t page_size) : length_{file.pages * page_size}
    {
        address_ = ::mmap(nullptr, length_, PROT_READ, MAP_SHARED | MAP_NORESERVE, file.fd.get(), 0);
        if (address_ == MAP_FAILED)
            map_failed(errno, length_);
    }
    View(const View&) = delete;
    View& operator=(const View&) = delete;
    ~View() { ::munmap(address_, length_); }

    [[nodiscard]] std::byte* address() const noexcept { return static_cast<std::byte*>(address_); }
    [[nodiscard]] std::size_t length() const noexcept { return length_; }

  private:
    std::size_t length_;
    void* address_;
};

} // namespace

void map_at(std::uintptr_t address, std::size_t length, int fd, std::size_t offset)
{
    if (::mmap(reinterpret_cast<void*>(address), length, PROT_READ | PROT_WRITE,
               MAP_SHARED | MAP_FIXED | MAP_NORESERVE, fd, static_cast<off_t>(offset)) == MAP_FAILED)
        map_failed(errno, length);
    // As other memory that devices write into, it is not what a core dump is for.
    ::madvise(reinterpret_cast<void*>(address), length, MADV_DONTDUMP);
}

void populate(std::uintptr_t address, std::size_t length)
{
    populate(address, length, MADV_POPULATE_WRITE);
}

Frames frames_of(const PageFiles& files, std::optional<int> node)
{
    const std::size_t page_size = files.page_size();
    Frames all;
    for (const PageFiles::File& file : files.files()) {
        if (file.pages == 0)
            continue;
        const View view{file, page_size};
        populate(reinterpret_cast<std::uintptr_t>(view.address()), view.length(), MADV_POPULATE_READ);
        if (node)
            check_node({view.address(), view.length()}, page_size, *node);
        const Frames frames = read_frames(view.address(), view.length(), PageShift::of(page_size));
        all.addresses.insert(all.addresses.end(), frames.addresses.begin(), frames.addresses.end());
        all.hidden = all.hidden || frames.hidden;
        all.absent_pages += frames.absent_pages;
    }
    if (all.hidden)
        all.addresses.clear();
    return all;
}

} // namespace mrz::hugepage
