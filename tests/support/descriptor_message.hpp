// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Messages with any number of descriptors, and what is left open of them.
#pragma once

#include <cstddef>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <span>
#include <vector>

#include <sys/socket.h>

namespace mrz::test {

//! Whether all of it was sent.
inline bool send_with_descriptors(int socket, std::span<const std::byte> message, std::span<const int> descriptors)
{
    iovec bytes{const_cast<std::byte*>(message.data()), message.size()};
    std::vector<char> control(CMSG_SPACE(descriptors.size_bytes()));
    msghdr header{};
    header.msg_iov = &bytes;
    header.msg_iovlen = 1;
    if (!descriptors.empty()) {
        header.msg_control = control.data();
        header.msg_controllen = control.size();
        cmsghdr* const part = CMSG_FIRSTHDR(&header);
        part->cmsg_level = SOL_SOCKET;
        part->cmsg_type = SCM_RIGHTS;
        part->cmsg_len = CMSG_LEN(descriptors.size_bytes());
        std::memcpy(CMSG_DATA(part), descriptors.data(), descriptors.size_bytes());
    }
    return ::sendmsg(socket, &header, MSG_NOSIGNAL) == static_cast<ssize_t>(message.size());
}

//! Of this process.
inline std::size_t open_descriptors()
{
    using Files = std::filesystem::directory_iterator;
    return static_cast<std::size_t>(std::distance(Files{"/proc/self/fd"}, Files{}));
}

} // namespace mrz::test
