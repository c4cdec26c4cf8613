// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! What a peer says of a region, under arbitrary bytes: refused, or such that it makes sense and packs to the same.
#include "input.hpp"

#include "checksum.hpp"

#include <mrzone/region.hpp>

#include <algorithm>
#include <span>
#include <vector>

using namespace mrz;

namespace {

void take(std::span<const std::byte> bytes)
{
    constexpr std::size_t reserved = 36; // and from there on the checksum over it, too
    RemoteRegion region;
    try {
        region = RemoteRegion::unpack(bytes);
    } catch (const Error& error) {
        fuzz::require(error.cause().trouble == Trouble::data);
        return;
    }
    fuzz::require(bytes.size() >= RemoteRegion::packed_size);
    fuzz::require(region.length > 0 && region.iova.value() <= ~std::uint64_t{0} - (region.length - 1));
    fuzz::require(!grants(region.access, Access::local_write));
    const auto packed = region.pack();
    fuzz::require(std::ranges::equal(std::span{packed}.first(reserved), bytes.first(reserved)));
    fuzz::require(RemoteRegion::unpack(packed) == region);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    const std::span<const std::byte> bytes{reinterpret_cast<const std::byte*>(data), size};
    take(bytes);
    if (bytes.size() < RemoteRegion::packed_size)
        return 0;
    // A fuzzer does not find checksums; a peer that means ill computes them.
    std::vector<std::byte> sealed{bytes.begin(), bytes.end()};
    constexpr std::size_t checked = RemoteRegion::packed_size - 4;
    const std::uint32_t sum = crc32c(std::span{sealed}.first(checked));
    for (unsigned i = 0; i < 4; ++i)
        sealed[checked + i] = static_cast<std::byte>(sum >> (24 - 8 * i));
    take(sealed);
    return 0;
}
