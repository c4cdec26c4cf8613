// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Memory keys: what a record of the memory protection table (MPT) says.
#pragma once

#include <mrzone/base.hpp>

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace mrz::hca {

//! The number of a protection domain.
enum class Pd : std::uint32_t {};

//! A memory key as the adapter knows it: the index of its record in the upper 24 bits, the variant byte below. A work
//! request carries it as an LKey or an RKey; what it may be used for is up to its rights.
using Mkey = Key<struct AdapterSide>;

constexpr std::uint32_t index_of(Mkey key) noexcept
{
    return key.value >> 8;
}
constexpr std::uint8_t variant_of(Mkey key) noexcept
{
    return static_cast<std::uint8_t>(key.value);
}
constexpr Mkey make_mkey(std::uint32_t index, std::uint8_t variant) noexcept
{
    return Mkey{index << 8 | variant};
}

//! What a key may be used for: the five bits of a record. Unlike in mrz::Access, local read is a right of its own, so
//! that a key for peers is none for its owner.
enum class KeyRights : std::uint8_t {
    none = 0,
    local_read = 1 << 0,
    local_write = 1 << 1,
    remote_read = 1 << 2,
    remote_write = 1 << 3,
    remote_atomic = 1 << 4,
};
constexpr KeyRights operator|(KeyRights a, KeyRights b) noexcept
{
    return static_cast<KeyRights>(static_cast<unsigned>(a) | static_cast<unsigned>(b));
}
constexpr KeyRights operator&(KeyRights a, KeyRights b) noexcept
{
    return static_cast<KeyRights>(static_cast<unsigned>(a) & static_cast<unsigned>(b));
}
//! Whether every right of \p wanted is among \p granted.
constexpr bool grants(KeyRights granted, KeyRights wanted) noexcept
{
    return (granted & wanted) == wanted;
}
//! The owner's part of a region's rights.
constexpr KeyRights local_rights(Access access) noexcept
{
    return mrz::grants(access, Access::local_write) ? KeyRights::local_read | KeyRights::local_write
                                                    : KeyRights::local_read;
}
//! The peers' part of a region's rights.
constexpr KeyRights remote_rights(Access access) noexcept
{
    KeyRights rights = KeyRights::none;
    if (mrz::grants(access, Access::remote_read))
        rights = rights | KeyRights::remote_read;
    if (mrz::grants(access, Access::remote_write))
        rights = rights | KeyRights::remote_write;
    if (mrz::grants(access, Access::remote_atomic))
        rights = rights | KeyRights::remote_atomic;
    return rights;
}

//! How a key finds its memory.
enum class KeyMode : std::uint8_t {
    pa,   //!< An address of the key is a DMA address.
    mtt,  //!< Pages of one size, from the memory translation table.
    klm,  //!< Pieces of other keys, of any lengths.
    ksm,  //!< Pieces of other keys, of one power of two.
    null, //!< No memory: reads give zeros and writes vanish.
};
std::string_view to_string(KeyMode mode) noexcept;

//! A piece of another key. That key is used as its owner would: reading needs local_read of it and writing
//! local_write, so it need not be open to peers itself. (The kernel builds its own indirect keys over a local-only
//! key: drivers/infiniband/hw/mlx5/mr.c, mlx5_ib_sg_to_klms.)
struct IndirectEntry {
    Mkey key;
    Iova iova;                //!< Where the piece begins in the space of that key.
    std::uint64_t length = 0; //!< Bytes; KSM ignores it.

    friend bool operator==(const IndirectEntry&, const IndirectEntry&) = default;
};

//! What a key is to be.
struct MkeySpec {
    KeyMode mode = KeyMode::mtt;
    Pd pd = {};
    bool every_pd = false;   //!< Usable in every domain: for the adapter's own keys.
    bool privileged = false; //!< Usable only by queue pairs that are (QpOptions), below other keys, too.
    KeyRights rights = KeyRights::none;
    Iova start;               //!< The first address of the key.
    std::uint64_t length = 0; //!< Bytes, not 0; start + length is at most 2^64.
    //! MTT and KSM: the base-2 logarithm of an entry's size, 12 to 63. The entries are those of naturally aligned
    //! addresses: the first covers the page that start is in.
    unsigned page_shift = 12;
    //! MTT: where in its first page the memory begins, where the caller knows (a umem's offset). Must then agree with
    //! start: what firmware refuses with syndrome 0x317175.
    std::optional<std::uint64_t> page_offset = {};
    std::vector<DmaAddress> pages;      //!< MTT: each a multiple of the page size.
    std::vector<IndirectEntry> entries; //!< KLM and KSM.
    //! The low byte of the key; none for a random one, which peers cannot predict.
    std::optional<std::uint8_t> variant = {};
};

//! What a query tells of a key.
struct MkeyInfo {
    KeyMode mode = KeyMode::mtt;
    bool free = false; //!< The key is taken, but nothing may be done with it.
    Pd pd = {};
    bool every_pd = false;
    bool privileged = false;
    KeyRights rights = KeyRights::none;
    Iova start;
    std::uint64_t length = 0;
    unsigned page_shift = 0;       //!< 0 where the mode has none.
    std::uint64_t entry_count = 0; //!< Table entries it takes: pages, or pieces of other keys.
    unsigned nesting = 0;          //!< Levels of keys below it, as far as they existed when it was made.
};

//! A record, as the table keeps it.
struct MkeyRecord {
    MkeyInfo info;
    std::uint8_t variant = 0;
    std::vector<DmaAddress> pages;
    std::vector<IndirectEntry> entries;
    std::vector<std::uint64_t> ends;     //!< KLM: where in the key each entry ends, counted from the start.
    std::uint64_t first_translation = 0; //!< The number of its first entry among all that ever were.
};

} // namespace mrz::hca
