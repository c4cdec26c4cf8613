// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! What two devices say to each other before they are linked.
#pragma once

#include <mrzone/file_descriptor.hpp>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

namespace mrz::fabric {

//! A port, as others address it.
struct PortAddress {
    std::uint16_t lid = 0;
    std::uint64_t guid = 0;
    friend bool operator==(const PortAddress&, const PortAddress&) = default;
};

//! One message, in the machine's byte order. Who connects sends `ask`, with the memory of the wire; who listens
//! answers `accept` or `refuse`.
struct Greeting {
    enum Kind : std::uint8_t { ask = 1, accept = 2, refuse = 3 };
    std::array<char, 7> magic = {'m', 'r', 'z', '-', 'h', 'c', 'a'};
    std::uint8_t kind = 0;
    //! Of this, of packets, and of the rings: whatever both sides must agree on.
    std::uint32_t version = 1;
    std::uint16_t lid = 0;
    std::uint16_t length = 0; //!< Of the text.
    std::uint64_t guid = 0;
    std::array<char, 104> text{}; //!< Why it is refused.

    [[nodiscard]] PortAddress port() const noexcept { return {lid, guid}; }
    //! For people: a foreign byte becomes '?'.
    [[nodiscard]] std::string why() const;
};
static_assert(sizeof(Greeting) == 128 && std::has_unique_object_representations_v<Greeting>);

//! Longer text is cut.
[[nodiscard]] Greeting make_greeting(Greeting::Kind kind, const PortAddress& own, std::string_view why = {});

//! False if the peer cannot be told.
bool send(int socket, const Greeting& greeting, int memory = -1) noexcept;

struct Received {
    enum class Result : std::uint8_t { nothing_yet, gone, nonsense, greeting } result = Result::nothing_yet;
    Greeting greeting;
    FileDescriptor memory; //!< If one came along.
};
//! Never blocks.
[[nodiscard]] Received receive(int socket);

} // namespace mrz::fabric
