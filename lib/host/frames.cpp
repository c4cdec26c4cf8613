// SPDX-License-Identifier: BSD-3-Clause
#include <mrzone/frames.hpp>

#include <mrzone/file_descriptor.hpp>

#include <cerrno>
#include <cstring>
#include <span>
#include <string>

#include <fcntl.h>
#include <unistd.h>

namespace mrz {
namespace {

// Bits of an entry: Linux Documentation/admin-guide/mm/pagemap.rst.
constexpr std::uint64_t present_bit = std::uint64_t{1} << 63;
constexpr std::uint64_t frame_mask = (std::uint64_t{1} << 55) - 1;

[[noreturn]] void fail(int error, const std::string& file)
{
    throw Error{error,
                {.trouble = Trouble::internal,
                 .what = "reading frames",
                 .limit = file + ": " + std::strerror(error),
                 .remedy = "check that /proc is mounted"}};
}

//! Returns how many entries there were to read: fewer where the process is gone.
std::size_t read_entries(int fd, std::uint64_t first, std::span<std::uint64_t> entries, const std::string& file)
{
    std::size_t done = 0;
    while (done < entries.size_bytes()) {
        const ssize_t got = ::pread(fd, reinterpret_cast<std::byte*>(entries.data()) + done,
                                    entries.size_bytes() - done, static_cast<off_t>(first * 8 + done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            fail(errno, file);
        if (got == 0)
            break;
        done += static_cast<std::size_t>(got);
    }
    return done / sizeof entries.front();
}

[[noreturn]] void gone(const std::string& file)
{
    throw Error{ESRCH,
                {.trouble = Trouble::invalid,
                 .what = "reading frames",
                 .limit = file + ": the process has ended",
                 .remedy = "give a process that runs"}};
}

//! \p folder is the process's own in /proc.
Frames read(const std::string& folder, std::uint64_t begin, std::size_t length, PageShift page)
{
    const auto base = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
    if (page.bytes() < base || begin % page.bytes() != 0 || length % page.bytes() != 0)
        throw Error{EINVAL,
                    {.trouble = Trouble::invalid,
                     .what = "reading frames of " + format_size(length) + " at " + format_hex(begin),
                     .limit = "address and length must be multiples of the page size, " + format_size(page.bytes()),
                     .remedy = "align them"}};

    Frames frames;
    const std::size_t count = length >> page.value();
    const std::string file = folder + "/pagemap";
    const FileDescriptor fd{::open(file.c_str(), O_RDONLY | O_CLOEXEC)};
    if (fd.get() < 0) {
        if (errno == ENOENT && ::access("/proc/self", F_OK) == 0)
            gone(file);
        // A process that changed its user may not even open its own file: no more hidden than zeroes.
        if (errno != EACCES && errno != EPERM)
            fail(errno, file);
        frames.hidden = count > 0;
        return frames;
    }

    // One entry a page: a hugepage's other entries say nothing new, and the kernel takes its time to make them.
    const std::size_t stride = page.bytes() / base;
    std::vector<std::uint64_t> entries(count);
    const std::size_t step = stride == 1 ? count : 1;
    for (std::size_t i = 0; i < count; i += step)
        if (read_entries(fd.get(), begin / base + i * stride, std::span{entries}.subspan(i, step), file) != step)
            gone(file); // the kernel ends the file where there is no memory any more

    frames.addresses.reserve(count);
    for (const std::uint64_t entry : entries) {
        if ((entry & present_bit) == 0) {
            ++frames.absent_pages;
            frames.addresses.push_back(Frames::absent);
            continue;
        }
        // The kernel shows frame 0 to those who may not know; no process memory lies in the real frame 0.
        frames.hidden = frames.hidden || (entry & frame_mask) == 0;
        frames.addresses.push_back(DmaAddress{(entry & frame_mask) * base});
    }
    if (frames.hidden)
        frames.addresses.clear();
    return frames;
}

} // namespace

Frames read_frames(const void* address, std::size_t length, PageShift page)
{
    return read("/proc/self", reinterpret_cast<std::uintptr_t>(address), length, page);
}

Frames read_frames_of(pid_t pid, std::uint64_t address, std::size_t length, PageShift page)
{
    return read("/proc/" + std::to_string(pid), address, length, page);
}

bool frames_can_be_read()
{
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    std::vector<std::byte> touched(2 * page, std::byte{1});
    const auto inside = (reinterpret_cast<std::uintptr_t>(touched.data()) + page - 1) / page * page;
    return !read_frames(reinterpret_cast<const void*>(inside), page, PageShift::of(page)).hidden;
}

} // namespace mrz
