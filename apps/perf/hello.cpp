// SPDX-License-Identifier: BSD-3-Clause
#include "hello.hpp"

#include <cerrno>
#include <random>
#include <string>

namespace mrz::perf {
namespace {

constexpr std::uint64_t magic = 0x6d727a70; // "mrzp"

std::uint64_t take(std::span<const std::byte> bytes, std::size_t at, std::size_t count)
{
    std::uint64_t value = 0;
    for (std::size_t i = at; i < at + count; ++i)
        value = value << 8 | std::to_integer<std::uint64_t>(bytes[i]);
    return value;
}

void put(std::span<std::byte> bytes, std::size_t at, std::size_t count, std::uint64_t value)
{
    for (std::size_t i = 0; i < count; ++i)
        bytes[at + i] = static_cast<std::byte>(value >> (8 * (count - 1 - i)));
}

[[noreturn]] void refuse(std::string limit)
{
    throw Error{EPROTO,
                {.trouble = Trouble::peer,
                 .what = "a peer's first words",
                 .limit = std::move(limit),
                 .remedy = "use the same mrz-perf at both ends"}};
}

} // namespace

std::array<std::byte, Hello::packed_size> Hello::pack() const noexcept
{
    std::array<std::byte, packed_size> bytes{};
    put(bytes, 0, 4, magic);
    put(bytes, 4, 1, protocol);
    put(bytes, 5, 1, static_cast<std::uint64_t>(role));
    put(bytes, 6, 2, stream);
    put(bytes, 8, 8, session);
    return bytes;
}

Hello Hello::unpack(std::span<const std::byte> bytes)
{
    if (bytes.size() < packed_size || take(bytes, 0, 4) != magic)
        refuse("this is mrz-perf, and you are not");
    if (const auto version = take(bytes, 4, 1); version != protocol)
        refuse("mrz-perf protocol " + std::to_string(protocol) + ", not " + std::to_string(version));
    const auto role = take(bytes, 5, 1);
    if (role != static_cast<std::uint64_t>(Role::control) && role != static_cast<std::uint64_t>(Role::data))
        refuse("no such kind of connection");
    return {.role = static_cast<Role>(role),
            .stream = static_cast<std::uint16_t>(take(bytes, 6, 2)),
            .session = take(bytes, 8, 8)};
}

std::uint64_t secret_number()
{
    std::random_device random;
    return std::uint64_t{random()} << 31 | random();
}

} // namespace mrz::perf
