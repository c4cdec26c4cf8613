// SPDX-License-Identifier: BSD-3-Clause
#include "pattern.hpp"

#include "slots.hpp"

#include <mrzone/base.hpp>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

namespace mrz::perf {
namespace {

constexpr std::size_t word_size = sizeof(std::uint64_t);

std::uint64_t key_of(std::uint64_t seed, std::uint64_t what, bool server, unsigned stream) noexcept
{
    return mixed(mixed(seed) ^ mixed(what << 32 | std::uint64_t{server} << 31 | stream));
}

} // namespace

Pattern Pattern::brought(std::uint64_t seed, bool server, unsigned stream) noexcept
{
    return Pattern{key_of(seed, 1, server, stream)};
}

Pattern Pattern::before(std::uint64_t seed, bool server, unsigned stream) noexcept
{
    return Pattern{key_of(seed, 2, server, stream)};
}

std::uint64_t Pattern::word(std::size_t offset) const noexcept
{
    return mixed(key_ + offset);
}

void Pattern::fill(std::span<std::byte> bytes, std::size_t offset) const noexcept
{
    for (std::size_t at = 0; at < bytes.size(); at += word_size) {
        const std::uint64_t value = word(offset + at);
        std::memcpy(bytes.data() + at, &value, std::min(word_size, bytes.size() - at));
    }
}

void Pattern::check(std::span<const std::byte> bytes, std::size_t offset, std::string_view where) const
{
    for (std::size_t at = 0; at < bytes.size(); at += word_size) {
        const std::uint64_t value = word(offset + at);
        const std::size_t length = std::min(word_size, bytes.size() - at);
        if (std::memcmp(bytes.data() + at, &value, length) == 0)
            continue;
        const auto* const wanted = reinterpret_cast<const std::byte*>(&value);
        const auto wrong =
            static_cast<std::size_t>(std::mismatch(wanted, wanted + length, bytes.data() + at).first - wanted);
        throw Error{EBADMSG,
                    {.trouble = Trouble::data,
                     .what = "comparing the bytes " + std::string{where},
                     .limit = "the first wrong one, at " + std::to_string(offset + at + wrong) + ", is",
                     .present = std::to_integer<std::uint64_t>(bytes[at + wrong]),
                     .need = std::to_integer<std::uint64_t>(wanted[wrong]),
                     .remedy = "report it, with both command lines"}};
    }
}

} // namespace mrz::perf
