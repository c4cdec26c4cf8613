// SPDX-License-Identifier: BSD-3-Clause
#include "vfio_user/vectors.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

namespace mrz::vfio_user {
namespace {

//! Whether it is an eventfd: what else might be written to could block, or be a file.
bool is_event(const FileDescriptor& file)
{
    constexpr std::string_view wanted = "anon_inode:[eventfd]";
    const std::string link = "/proc/self/fd/" + std::to_string(file.get());
    std::array<char, 64> name{};
    const ssize_t length = ::readlink(link.c_str(), name.data(), name.size());
    return length >= 0 && std::string_view{name.data(), static_cast<std::size_t>(length)} == wanted;
}

//! An event that nobody reads is full at some time; then whoever writes it must not wait.
bool stop_blocking(const FileDescriptor& file)
{
    const int flags = ::fcntl(file.get(), F_GETFL);
    return flags >= 0 && ((flags & O_NONBLOCK) != 0 || ::fcntl(file.get(), F_SETFL, flags | O_NONBLOCK) == 0);
}

} // namespace

void Vectors::listen(unsigned first, std::span<FileDescriptor> events)
{
    for (const FileDescriptor& event : events) {
        if (!is_event(event) || !stop_blocking(event))
            throw Error{EINVAL,
                        {.trouble = Trouble::peer,
                         .what = "setting an interrupt",
                         .limit = "a descriptor that is no eventfd",
                         .remedy = "use a client that speaks vfio-user; is /proc mounted?"}};
    }
    const std::lock_guard guard{lock_};
    for (FileDescriptor& event : events)
        std::swap(events_[first++], event); // the caller closes what was there
}

void Vectors::ignore(unsigned first, unsigned count) noexcept
{
    const std::lock_guard guard{lock_};
    for (unsigned vector = first; vector < first + count; ++vector)
        const FileDescriptor closed = std::exchange(events_[vector], FileDescriptor{});
}

void Vectors::raise(unsigned vector) noexcept
{
    const std::shared_lock guard{lock_};
    if (vector >= events_.size() || !events_[vector].valid())
        return;
    const std::uint64_t one = 1;
    // Full: whoever listens has 2^64 - 2 interrupts to see already.
    if (::write(events_[vector].get(), &one, sizeof one) < 0)
        return;
}

} // namespace mrz::vfio_user
