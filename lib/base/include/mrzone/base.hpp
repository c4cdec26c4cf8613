// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! The words of mrzone as types: sizes, page shifts, addresses, keys, rights, errors and the log.
//!
//! A size is always a count of bytes in a std::size_t. The types below differ so that mixing up, say,
//! a DMA address with an address in a key's space does not compile.
#pragma once

#include <bit>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

#define MRZ_API __attribute__((visibility("default")))
//! For what a class of the API keeps to itself.
#define MRZ_HIDDEN __attribute__((visibility("hidden")))

namespace mrz {

inline namespace literals {
// clang-format off
consteval std::size_t operator""_KiB(unsigned long long n) { return static_cast<std::size_t>(n) << 10; }
consteval std::size_t operator""_MiB(unsigned long long n) { return static_cast<std::size_t>(n) << 20; }
consteval std::size_t operator""_GiB(unsigned long long n) { return static_cast<std::size_t>(n) << 30; }
consteval std::size_t operator""_TiB(unsigned long long n) { return static_cast<std::size_t>(n) << 40; }
// clang-format on
} // namespace literals

//! The base-2 logarithm of a page size, 12 (4 KiB) to 63.
class PageShift {
  public:
    static constexpr unsigned least = 12;
    static constexpr unsigned most = 63;

    constexpr explicit PageShift(unsigned value) : value_{value}
    {
        if (value < least || value > most)
            throw std::out_of_range{"a page shift is 12 to 63"};
    }
    //! The shift of a page size in bytes. Throws std::out_of_range unless it is a power of two >= 4 KiB.
    static constexpr PageShift of(std::size_t page_size)
    {
        if (!std::has_single_bit(page_size))
            throw std::out_of_range{"a page size is a power of two"};
        return PageShift{static_cast<unsigned>(std::countr_zero(page_size))};
    }

    [[nodiscard]] constexpr unsigned value() const noexcept { return value_; }
    //! The page size in bytes.
    [[nodiscard]] constexpr std::uint64_t bytes() const noexcept { return std::uint64_t{1} << value_; }

    friend constexpr auto operator<=>(PageShift, PageShift) = default;

  private:
    unsigned value_;
};

//! An address of one address space. Adding bytes stays within the space; two spaces do not mix.
template <class Space>
class Address {
  public:
    constexpr Address() = default;
    constexpr explicit Address(std::uint64_t value) : value_{value} {}

    [[nodiscard]] constexpr std::uint64_t value() const noexcept { return value_; }

    friend constexpr auto operator<=>(Address, Address) = default;
    friend constexpr Address operator+(Address a, std::uint64_t bytes) noexcept { return Address{a.value_ + bytes}; }
    friend constexpr std::uint64_t operator-(Address a, Address b) noexcept { return a.value_ - b.value_; }

  private:
    std::uint64_t value_ = 0;
};

//! What a device puts on the bus: a physical address or, behind a translating IOMMU, the IOMMU's input.
//! DPDK calls this an IOVA; here it is never called that.
using DmaAddress = Address<struct DmaSpace>;
//! An address in the space of one key, as verbs use the word.
using Iova = Address<struct KeySpace>;

//! One of a region's keys. Local and remote ones are different types on purpose.
template <class Side>
struct Key {
    std::uint32_t value = 0;
    friend constexpr auto operator<=>(Key, Key) = default;
};
//! The key that the owner's own work requests carry.
using LKey = Key<struct LocalSide>;
//! The key that a peer's requests carry.
using RKey = Key<struct RemoteSide>;

//! The rights of a region. Local read is implied by all.
enum class Access : std::uint8_t {
    local_read = 0,
    local_write = 1 << 0,
    remote_read = 1 << 1,
    remote_write = 1 << 2,
    remote_atomic = 1 << 3,
};
constexpr Access operator|(Access a, Access b) noexcept
{
    return static_cast<Access>(static_cast<unsigned>(a) | static_cast<unsigned>(b));
}
constexpr Access operator&(Access a, Access b) noexcept
{
    return static_cast<Access>(static_cast<unsigned>(a) & static_cast<unsigned>(b));
}
//! Whether every right of \p wanted is among \p granted.
constexpr bool grants(Access granted, Access wanted) noexcept
{
    return (granted & wanted) == wanted;
}
//! All rights of peers.
inline constexpr Access remote_rights = Access::remote_read | Access::remote_write | Access::remote_atomic;
//! Whether it grants anything to peers.
constexpr bool has_remote_right(Access access) noexcept
{
    return (access & remote_rights) != Access::local_read;
}

//! What kind of trouble an Error is: what a caller may branch on (the programs' exit status does).
enum class Trouble {
    internal,      //!< A fault of mrzone or of something it stands on.
    invalid,       //!< The request makes no sense, or a file cannot be read as what it should be.
    hugepages,     //!< A pool, mount or node has too few hugepages, or there is no such page size.
    locked_memory, //!< The locked-memory limit (RLIMIT_MEMLOCK).
    permission,    //!< A capability or a file permission is missing.
    cgroup,        //!< A control group's limit.
    unsupported,   //!< No such device, or something this kernel, EAL or device does not do.
    busy,          //!< It exists already, or is in use.
    data,          //!< Data read back differ from what was written.
    peer,          //!< The other side refused, is gone, or does not answer.
};

//! Why something was refused, for a person who has to change it.
struct Cause {
    Trouble trouble = Trouble::internal;
    std::string what;                          //!< What was asked for.
    std::string limit;                         //!< Which limit refused it, with its unit.
    std::optional<std::uint64_t> present = {}; //!< The limit's present value; none where it is unknown.
    std::optional<std::uint64_t> need = {};    //!< The value that would have sufficed; none if no number says it.
    std::string remedy;                        //!< The command, or the change, that helps.
};

//! Every failure that mrzone reports. what() is one line made of all parts of the cause.
class MRZ_API Error : public std::runtime_error {
  public:
    //! \p error_number is a positive errno.
    Error(int error_number, Cause cause);

    [[nodiscard]] int error_number() const noexcept { return error_number_; }
    [[nodiscard]] const Cause& cause() const noexcept { return cause_; }

  private:
    int error_number_;
    Cause cause_;
};

//! A power-of-1024 size for people: "1 GiB", "1.5 GiB", "513 B".
MRZ_API std::string format_size(std::uint64_t bytes);
//! "0x…", lower case, without padding.
MRZ_API std::string format_hex(std::uint64_t value);
//! What is safe to show a person of text that anybody may have given: printable ASCII, "?" for the rest.
MRZ_API std::string printable(std::string_view text);

enum class Severity { info, warning, error };

//! Receives each line that the library has to say, without a newline, from any thread.
using LogSink = std::function<void(Severity, std::string_view)>;

//! Replaces the sink; an empty one restores the default, standard error from warning upwards. Thread-safe.
MRZ_API void set_log_sink(LogSink sink);
//! Says one line. Thread-safe; a sink that throws is ignored.
MRZ_API void log(Severity severity, std::string_view line) noexcept;
//! Says a line the first time that this process says \p line, so that a lasting condition is heard once.
MRZ_API void log_once(Severity severity, std::string_view line) noexcept;

} // namespace mrz
