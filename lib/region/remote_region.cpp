// SPDX-License-Identifier: BSD-3-Clause
#include <mrzone/region.hpp>

#include "checksum.hpp"

#include <cerrno>
#include <concepts>

namespace mrz {
namespace {

constexpr std::uint32_t magic = 0x6d727a52; // "mrzR"
constexpr std::uint8_t version = 1;
constexpr std::size_t checked = RemoteRegion::packed_size - sizeof(std::uint32_t); // bytes before the checksum
constexpr auto all_rights = static_cast<std::uint16_t>(remote_rights);

class Packer {
  public:
    explicit Packer(std::span<std::byte> bytes) noexcept : left_{bytes} {}

    void put(std::unsigned_integral auto value) noexcept
    {
        for (unsigned at = sizeof value; at-- > 0;) {
            left_.front() = static_cast<std::byte>(value >> (8 * at));
            left_ = left_.subspan(1);
        }
    }

  private:
    std::span<std::byte> left_;
};

class Unpacker {
  public:
    explicit Unpacker(std::span<const std::byte> bytes) noexcept : left_{bytes} {}

    template <std::unsigned_integral T>
    T take() noexcept
    {
        std::uint64_t value = 0;
        for (unsigned at = 0; at < sizeof(T); ++at)
            value = value << 8 | std::to_integer<std::uint64_t>(left_[at]);
        left_ = left_.subspan(sizeof(T));
        return static_cast<T>(value);
    }

  private:
    std::span<const std::byte> left_;
};

[[noreturn]] void refuse(std::string limit, std::uint64_t present, std::uint64_t need)
{
    throw Error{EBADMSG,
                {.trouble = Trouble::data,
                 .what = "unpacking what a peer said of a region",
                 .limit = std::move(limit),
                 .present = present,
                 .need = need,
                 .remedy = "send what was packed, whole, by a library of the same version"}};
}

} // namespace

std::array<std::byte, RemoteRegion::packed_size> RemoteRegion::pack() const
{
    std::array<std::byte, packed_size> bytes{};
    Packer to{bytes};
    to.put(magic);
    to.put(version);
    to.put(static_cast<std::uint8_t>(page_shift.value()));
    to.put(static_cast<std::uint16_t>(access));
    to.put(iova.value());
    to.put(length);
    to.put(rkey.value);
    to.put(generation);
    to.put(std::uint64_t{0});
    to.put(crc32c(std::span{bytes}.first(checked)));
    return bytes;
}

RemoteRegion RemoteRegion::unpack(std::span<const std::byte> bytes)
{
    if (bytes.size() < packed_size)
        refuse("bytes of a packed region", bytes.size(), packed_size);
    Unpacker from{bytes.first(packed_size)};
    if (const auto found = from.take<std::uint32_t>(); found != magic)
        refuse("the first word, which says what it is", found, magic);
    const auto of_version = from.take<std::uint8_t>();
    if (of_version != version)
        refuse("the version", of_version, version);
    const auto shift = from.take<std::uint8_t>();
    const auto rights = from.take<std::uint16_t>();
    RemoteRegion region;
    region.iova = Iova{from.take<std::uint64_t>()};
    region.length = from.take<std::uint64_t>();
    region.rkey = RKey{from.take<std::uint32_t>()};
    region.generation = from.take<std::uint64_t>();
    static_cast<void>(from.take<std::uint64_t>()); // for what comes
    const std::uint32_t sum = crc32c(bytes.first(checked));
    if (const auto said = from.take<std::uint32_t>(); said != sum)
        refuse("the checksum", said, sum);
    // From here on it is a peer's mistake and not damage.
    if (shift < PageShift::least || shift > PageShift::most)
        refuse("the page shift", shift, PageShift::least);
    if ((rights & ~all_rights) != 0)
        refuse("remote rights", rights, all_rights);
    if (region.length == 0 || region.iova.value() + (region.length - 1) < region.iova.value())
        refuse("a range that is not empty and does not wrap", region.length, 1);
    region.page_shift = PageShift{shift};
    region.access = static_cast<Access>(rights);
    return region;
}

} // namespace mrz
