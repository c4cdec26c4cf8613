// SPDX-License-Identifier: BSD-3-Clause
#include "fabric/greeting.hpp"

#include <hca/wire_message.hpp>

#include <mrzone/base.hpp>

#include <algorithm>
#include <span>
#include <utility>

namespace mrz::fabric {

std::string Greeting::why() const
{
    return printable({text.data(), std::min<std::size_t>(length, text.size())});
}

Greeting make_greeting(Greeting::Kind kind, const PortAddress& own, std::string_view why)
{
    Greeting greeting;
    greeting.kind = kind;
    greeting.lid = own.lid;
    greeting.guid = own.guid;
    greeting.length = static_cast<std::uint16_t>(why.copy(greeting.text.data(), greeting.text.size()));
    return greeting;
}

bool send(int socket, const Greeting& greeting, int memory) noexcept
{
    return hca::send_message(socket, std::as_bytes(std::span{&greeting, 1}), memory);
}

Received receive(int socket)
{
    using Came = hca::ReceivedMessage::Result;
    Received received;
    hca::ReceivedMessage message =
        hca::receive_message(socket, std::as_writable_bytes(std::span{&received.greeting, 1}));
    received.memory = std::move(message.descriptor);
    if (message.result == Came::nothing_yet)
        return received;
    const Greeting expected;
    if (message.result == Came::gone)
        received.result = Received::Result::gone;
    else if (message.result == Came::message && received.greeting.magic == expected.magic &&
             received.greeting.version == expected.version)
        received.result = Received::Result::greeting;
    else
        received.result = Received::Result::nonsense;
    return received;
}

} // namespace mrz::fabric
