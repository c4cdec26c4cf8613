// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! All keys of an adapter: its memory protection table, and the translation entries that its records own.
#pragma once

#include <hca/mkey.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace mrz::hca {

struct KeyLimits {
    std::uint32_t keys = 1U << 20;           //!< At most 2^24 - 1.
    std::uint64_t translations = 1ULL << 27; //!< Translation entries of all keys together.
    unsigned max_page_shift = 63;            //!< 12 to 63.
    unsigned max_nesting = 4;                //!< Levels of keys below an indirect one.
};

//! Not thread-safe: Hca holds its access lock around it.
class KeyTable {
  public:
    //! An index rests, once its key is destroyed, until so many others are vacant or all that the limit allows were
    //! used; then the one that rested longest comes first. Till then a stale key finds nothing; later it may find
    //! another key, once in 255 uses of its index.
    static constexpr std::size_t resting_indices = 4096;

    explicit KeyTable(const KeyLimits& limits);

    //! A new key. Throws Error: EINVAL (the page shift, the length, entries that do not cover it, a start that does
    //! not agree with the page offset, …), ENOMEM (no record or no translation entry is left), ELOOP (nested too
    //! deep).
    Mkey create(MkeySpec spec);
    //! A new key that is taken but grants nothing until fill().
    Mkey create_free(Pd pd, std::optional<std::uint8_t> variant = {});
    //! Ends a key. This and what follows throw Error with ENOENT if there is no such key, or under another variant.
    void destroy(Mkey key);
    //! The same record under another variant byte; the old key is no more. A random byte differs from the old one.
    Mkey reissue(Mkey key, std::optional<std::uint8_t> variant = {});
    //! Takes back all that the key grants and gives up its entries; the key stays taken.
    void invalidate(Mkey key);
    //! Makes the record anew, under the variant that \p spec says or else under the same one. Nothing changes if it
    //! throws, as create() does.
    Mkey fill(Mkey key, MkeySpec spec);
    [[nodiscard]] MkeyInfo query(Mkey key) const;

    //! The record of an index, or null. The caller compares the variant.
    [[nodiscard]] const MkeyRecord* find(std::uint32_t index) const noexcept
    {
        return index < slots_.size() ? slots_[index].record.get() : nullptr;
    }

    [[nodiscard]] std::size_t size() const noexcept { return in_use_; }
    [[nodiscard]] std::uint64_t translations() const noexcept { return translations_; }
    [[nodiscard]] const KeyLimits& limits() const noexcept { return limits_; }

  private:
    struct Slot {
        std::unique_ptr<MkeyRecord> record;
        std::optional<std::uint8_t> last_variant; // so that an index used again gives another key
        std::uint32_t next_vacant = 0;            // of the vacant ones; 0 ends their list
    };

    [[nodiscard]] MkeyRecord& get(Mkey key, const char* what) const;
    [[nodiscard]] MkeyRecord make_record(MkeySpec spec, std::uint64_t entries_given_up);
    [[nodiscard]] unsigned nesting_of(const MkeySpec& spec) const;
    Mkey insert(MkeyRecord record, std::optional<std::uint8_t> variant);
    [[nodiscard]] bool takes_a_vacant_index() const noexcept;
    std::uint8_t random_variant(std::optional<std::uint8_t> other_than);

    KeyLimits limits_;
    std::vector<Slot> slots_; // slot 0 stays empty, so that no key is 0
    // Indices that were used, from the one vacant longest; a list through the slots, so that destroy() never
    // allocates.
    std::uint32_t first_vacant_ = 0;
    std::uint32_t last_vacant_ = 0;
    std::size_t in_use_ = 0;
    std::uint64_t translations_ = 0;
    std::uint64_t next_translation_ = 0;
    std::array<std::uint8_t, 64> random_{};
    std::size_t random_left_ = 0;
};

} // namespace mrz::hca
