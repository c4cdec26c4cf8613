// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Structures at the beginning of a message's payload.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <span>

namespace mrz::vfio_user {

//! What is not done, and an errno that says so. The client may go on.
struct Refused {
    int error;
    const char* why;
};

//! The structure that a payload begins with.
template <class T>
T take(std::span<const std::byte> payload)
{
    T value;
    if (payload.size() < sizeof value)
        throw Refused{EINVAL, "too short"};
    std::memcpy(&value, payload.data(), sizeof value);
    return value;
}

//! The structure that a payload is.
template <class T>
T take_all(std::span<const std::byte> payload)
{
    if (payload.size() != sizeof(T))
        throw Refused{EINVAL, "of another length"};
    return take<T>(payload);
}

template <class T>
T take_with_argsz(std::span<const std::byte> payload)
{
    const T value = take_all<T>(payload);
    if (value.argsz < sizeof value)
        throw Refused{EINVAL, "its argsz has no room for the answer"};
    return value;
}

} // namespace mrz::vfio_user
