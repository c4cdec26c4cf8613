// SPDX-License-Identifier: BSD-3-Clause
#include "watch_kernel.hpp"

#include <mrzone/base.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <string>

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace mrz::cache {
namespace {

// Newer than the headers of Debian 12: include/uapi/linux/userfaultfd.h and fs.h of Linux 6.7.
#ifndef UFFD_FEATURE_WP_ASYNC
#define UFFD_FEATURE_WP_ASYNC (1 << 15)
#endif
struct ScanArgument {
    std::uint64_t size, flags, start, end, walk_end, regions, region_count, most_pages;
    std::uint64_t inverted, all_of, any_of, returned;
};
struct ScannedRegion {
    std::uint64_t start, end, categories;
};
constexpr unsigned long pagemap_scan = _IOWR('f', 16, ScanArgument);
constexpr std::uint64_t is_in_watch = 1; // PAGE_IS_WPALLOWED: of a mapping in the asynchronous write-protect mode

constexpr std::uint64_t events_needed =
    UFFD_FEATURE_EVENT_UNMAP | UFFD_FEATURE_EVENT_REMAP | UFFD_FEATURE_EVENT_REMOVE;
//! With the first, files and shared memory can be watched too; with the other, hugepages and shared memory.
constexpr std::uint64_t events_wished = UFFD_FEATURE_WP_ASYNC | UFFD_FEATURE_WP_HUGETLBFS_SHMEM;

[[noreturn]] void refuse(const char* call, int error)
{
    if (error == EMFILE || error == ENFILE || error == ENOMEM)
        throw Error{
            error,
            {.trouble = Trouble::internal,
             .what = "watching for memory that goes away",
             .limit = std::string{call} + ": " + std::strerror(error),
             .remedy = error == ENOMEM ? "free memory" : "raise the limit on open files (ulimit -n), or close some"}};
    throw Error{error,
                {.trouble = error == EPERM || error == EACCES ? Trouble::permission : Trouble::unsupported,
                 .what = "watching for memory that goes away",
                 .limit = std::string{call} + ": " + std::strerror(error),
                 .remedy = "allow userfaultfd(2) (a container's seccomp profile may forbid it; the kernel needs "
                           "CONFIG_USERFAULTFD and 5.11 at least)"}};
}

FileDescriptor open_userfault()
{
    FileDescriptor fd{static_cast<int>(::syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | UFFD_USER_MODE_ONLY))};
    if (fd.get() < 0)
        refuse("userfaultfd", errno);
    return fd;
}

//! The handshake, which a descriptor can do once. Returns what the kernel has; 0, with errno, if not all is to be
//! had.
std::uint64_t shake_hands(const FileDescriptor& fd, std::uint64_t features)
{
    uffdio_api api{.api = UFFD_API, .features = features, .ioctls = 0};
    return ::ioctl(fd.get(), UFFDIO_API, &api) == 0 ? api.features : 0;
}

Range range(std::uint64_t begin, std::uint64_t end)
{
    return {static_cast<std::uintptr_t>(begin), static_cast<std::uintptr_t>(end)};
}

Event translate(const uffd_msg& message) noexcept
{
    switch (message.event) {
    case UFFD_EVENT_UNMAP:
        return {Event::Is::unmapped, range(message.arg.remove.start, message.arg.remove.end), {}};
    case UFFD_EVENT_REMOVE:
        return {Event::Is::discarded, range(message.arg.remove.start, message.arg.remove.end), {}};
    case UFFD_EVENT_REMAP: {
        const auto& moved = message.arg.remap;
        return {Event::Is::moved, range(moved.from, moved.from + moved.len), range(moved.to, moved.to + moved.len)};
    }
    default:
        return {};
    }
}

//! As is_watched(), from the text for people: each mapping's first line, and later its "VmFlags", of which uw is ours
//! (fs/proc/task_mmu.c). This walks the page tables of the whole process.
bool is_watched_by_smaps(const Range& pages)
{
    std::ifstream smaps{"/proc/self/smaps"};
    std::uintptr_t reached = pages.begin;
    Range mapping;
    for (std::string line; reached < pages.end && std::getline(smaps, line);) {
        const std::size_t dash = line.find('-');
        if (dash != std::string::npos && dash < line.find(' ')) {
            mapping = {std::stoul(line.substr(0, dash), nullptr, 16), std::stoul(line.substr(dash + 1), nullptr, 16)};
        } else if (line.starts_with("VmFlags:") && mapping.end > reached) {
            if (mapping.begin > reached || line.find(" uw") == std::string::npos)
                return false;
            reached = mapping.end;
        }
    }
    return reached >= pages.end;
}

} // namespace

Userfault::Userfault()
{
    const std::uint64_t there = shake_hands(open_userfault(), 0);
    if (there == 0)
        refuse("UFFDIO_API", errno);
    if ((there & events_needed) != events_needed)
        refuse("the events that are needed", EOPNOTSUPP);
    fd_ = open_userfault();
    if (shake_hands(fd_, events_needed | (events_wished & there)) == 0)
        refuse("UFFDIO_API", errno);
    if ((there & UFFD_FEATURE_WP_ASYNC) == 0)
        return;
    pagemap_ = FileDescriptor{::open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC)};
    ScanArgument nothing{};
    nothing.size = sizeof nothing;
    if (pagemap_.get() >= 0 && ::ioctl(pagemap_.get(), pagemap_scan, &nothing) != 0)
        pagemap_ = FileDescriptor{};
}

std::span<Event> Userfault::read(std::span<Event> events) noexcept
{
    std::array<uffd_msg, 16> messages;
    const std::size_t most = std::min(messages.size(), events.size());
    const ssize_t got = ::read(fd_.get(), messages.data(), most * sizeof messages[0]);
    if (got < 0) {
        if (errno == EAGAIN || errno == EINTR)
            return {};
        events[0] = {}; // nobody knows what was missed
        return events.first(1);
    }
    const std::size_t count = static_cast<std::size_t>(got) / sizeof messages[0];
    std::ranges::transform(std::span{messages}.first(count), events.begin(), translate);
    return events.first(count);
}

bool Userfault::watch(const Range& mappings) noexcept
{
    // In this mode nobody is stopped, as long as nobody protects a page.
    uffdio_register request{
        .range = {.start = mappings.begin, .len = mappings.length()}, .mode = UFFDIO_REGISTER_MODE_WP, .ioctls = 0};
    return ::ioctl(fd_.get(), UFFDIO_REGISTER, &request) == 0;
}

void Userfault::unwatch(const Range& range) noexcept
{
    uffdio_range request{.start = range.begin, .len = range.length()};
    // What is no longer there need not be given back; what cannot be told apart from others' goes with the
    // descriptor.
    static_cast<void>(::ioctl(fd_.get(), UFFDIO_UNREGISTER, &request));
}

bool Userfault::is_watched(const Range& pages) const
{
    if (pagemap_.get() < 0)
        return is_watched_by_smaps(pages);
    // Asked at once, so that what was seen here was there together. A range whose parts do not fit is not watched.
    std::array<ScannedRegion, 4> regions{};
    ScanArgument scan{};
    scan.size = sizeof scan;
    scan.start = pages.begin;
    scan.end = pages.end;
    scan.regions = reinterpret_cast<std::uintptr_t>(regions.data());
    scan.region_count = regions.size();
    scan.all_of = is_in_watch;
    scan.returned = is_in_watch;
    const int count = ::ioctl(pagemap_.get(), pagemap_scan, &scan);
    std::uintptr_t reached = pages.begin;
    for (int i = 0; i < count; ++i) {
        const ScannedRegion& region = regions[static_cast<std::size_t>(i)];
        if (region.start > reached)
            return false;
        reached = std::max(reached, static_cast<std::uintptr_t>(region.end));
    }
    return reached >= pages.end;
}

} // namespace mrz::cache
