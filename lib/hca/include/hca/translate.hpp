// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! From a key and an address in its space to DMA addresses, everything checked at every level.
#pragma once

#include <hca/cache.hpp>
#include <hca/key_table.hpp>
#include <hca/status.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace mrz::hca {

//! A piece of memory on the bus.
struct DmaSegment {
    DmaAddress at;
    std::uint64_t length = 0; //!< Bytes.
    bool null = false;        //!< No memory: reads as zeros, and writes to it vanish; `at` means nothing.

    friend bool operator==(const DmaSegment&, const DmaSegment&) = default;
};

//! Why an access is refused.
enum class Violation : std::uint8_t {
    none,
    no_key,    //!< No such key, or it is free.
    variant,   //!< There is such a key, but under another variant byte: the one given is stale or guessed.
    domain,    //!< The key belongs to another protection domain.
    rights,    //!< The key does not grant what is needed.
    bounds,    //!< A byte would be outside the key.
    nesting,   //!< More levels of keys than the adapter follows.
    scattered, //!< More pieces than the adapter puts into one operation.
};
std::string_view to_string(Violation violation) noexcept;
//! How the work of the one who used a local key ends; success for none.
WcStatus local_status(Violation violation) noexcept;
//! How the work of the peer who named a remote key ends; success for none.
WcStatus remote_status(Violation violation) noexcept;

//! The use of a key.
struct KeyUse {
    Mkey key;
    Iova at;
    std::uint64_t length = 0;
    KeyRights needs = KeyRights::none;
    Pd pd = {};
    bool privileged = false; //!< Whoever uses it may use keys that are.
};

//! Stands over a key table; the caller keeps the table from changing meanwhile.
class Translator {
  public:
    //! Two gibibytes of 4-KiB pages without two neighbours are half as many.
    static constexpr std::size_t max_segments = std::size_t{1} << 20;
    //! Pieces of indirect keys that are looked at for one use, those of no bytes and those that merge included: keys
    //! over keys could else make one use last for hours.
    static constexpr std::size_t max_pieces = std::size_t{1} << 22;

    //! Records used are looked up in \p mpt_cache by index, translation entries in \p mtt_cache by number.
    Translator(const KeyTable& keys, Cache& mpt_cache, Cache& mtt_cache) noexcept
        : keys_{keys}, mpt_cache_{mpt_cache}, mtt_cache_{mtt_cache}
    {
    }

    //! Appends the memory of \p use to \p segments, neighbours merged, or nothing if it is refused. A use of no bytes
    //! is granted whatever its key: the InfiniBand specification has no key of an empty access checked.
    Violation translate(const KeyUse& use, std::vector<DmaSegment>& segments) const;

  private:
    //! How far a walk through keys has come.
    struct Walk {
        std::vector<DmaSegment>& segments;
        std::size_t pieces = 0;
    };
    Violation walk(const KeyUse& use, unsigned level, Walk& so_far) const;
    Violation walk_pages(const MkeyRecord& record, const KeyUse& use, std::vector<DmaSegment>& segments) const;
    Violation walk_keys(const MkeyRecord& record, const KeyUse& use, unsigned level, Walk& so_far) const;

    const KeyTable& keys_;
    Cache& mpt_cache_;
    Cache& mtt_cache_;
};

} // namespace mrz::hca
