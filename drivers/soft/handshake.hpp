// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! What two processes say to each other before their queue pairs are connected.
#pragma once

#include <hca/wire.hpp>

#include <mrzone/device.hpp>

#include <array>
#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>

#include <sys/socket.h>

namespace mrz::soft {

//! One message. Who connects sends `ask`, with the memory of the wire; who listens answers `accept` or `refuse`.
struct Greeting {
    enum Kind : std::uint8_t { ask = 1, accept = 2, refuse = 3 };
    std::array<char, 8> magic = {'m', 'r', 'z', '-', 's', 'o', 'f', 't'};
    //! Of this, of packets, and of the rings: whatever both sides must agree on.
    std::uint32_t version = 2;
    std::uint32_t qpn = 0;
    std::uint8_t kind = 0;
    std::uint8_t length = 0; //!< Of what follows: private data, or why it is refused.
    std::array<std::uint8_t, most_private_data> bytes{};
    std::array<std::uint8_t, 6> reserved{};

    [[nodiscard]] std::span<const std::byte> data() const noexcept
    {
        return std::as_bytes(std::span{bytes}.first(length));
    }
    //! For people: a foreign byte becomes '?'.
    [[nodiscard]] std::string text() const;
};
static_assert(sizeof(Greeting) == 80 && std::has_unique_object_representations_v<Greeting>);

//! \p data has at most most_private_data bytes; longer text is cut.
Greeting make_greeting(Greeting::Kind kind, std::uint32_t qpn, std::span<const std::byte> data);

//! False, with errno, if the peer cannot be told.
bool send(int socket, const Greeting& greeting, int memory = -1) noexcept;

struct Received {
    enum class Result : std::uint8_t { nothing_yet, gone, nonsense, greeting } result = Result::nothing_yet;
    Greeting greeting;
    FileDescriptor memory; //!< If one came along.
};
//! Never blocks.
Received receive(int socket);

//! Who is at the other end of a connected socket, as it was when it connected or began to listen.
[[nodiscard]] ucred peer_of(int socket) noexcept;
//! Whether this process and the peer's user may have to do with each other: one user, or root on either side.
[[nodiscard]] bool may_meet(const ucred& peer) noexcept;
//! "process 4711 of user 1000".
[[nodiscard]] std::string describe(const ucred& peer);

//! When \p timeout from now is over.
std::chrono::steady_clock::time_point deadline_after(std::chrono::milliseconds timeout);
//! Waits until a descriptor is readable or the time is over; false then.
bool wait_readable(int descriptor, std::chrono::steady_clock::time_point until);

} // namespace mrz::soft
