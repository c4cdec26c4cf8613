// SPDX-License-Identifier: BSD-3-Clause
#include <hca/key_table.hpp>

#include "record.hpp"
#include "refuse.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include <unistd.h>

namespace mrz::hca {
namespace {

constexpr std::uint32_t most_keys = (1U << 24) - 1; // an index has 24 bits, and 0 is none

} // namespace

KeyTable::KeyTable(const KeyLimits& limits) : limits_{limits}, slots_(1)
{
    if (limits.keys == 0 || limits.keys > most_keys)
        refuse_invalid("make a key table", "the most keys that 24-bit indices allow", most_keys, limits.keys);
    if (limits.max_page_shift < 12 || limits.max_page_shift > 63)
        refuse_invalid("make a key table", "the largest page shift is 12 to 63", 63, limits.max_page_shift);
}

Mkey KeyTable::create(MkeySpec spec)
{
    const std::optional<std::uint8_t> variant = spec.variant;
    return insert(make_record(std::move(spec), 0), variant);
}

Mkey KeyTable::create_free(Pd pd, std::optional<std::uint8_t> variant)
{
    MkeyRecord record;
    record.info.free = true;
    record.info.pd = pd;
    return insert(std::move(record), variant);
}

void KeyTable::destroy(Mkey key)
{
    translations_ -= get(key, "destroy").info.entry_count;
    const std::uint32_t index = index_of(key);
    slots_[index].record.reset();
    slots_[index].last_variant = variant_of(key);
    slots_[index].next_vacant = 0;
    (first_vacant_ == 0 ? first_vacant_ : slots_[last_vacant_].next_vacant) = index;
    last_vacant_ = index;
    --in_use_;
}

Mkey KeyTable::reissue(Mkey key, std::optional<std::uint8_t> variant)
{
    MkeyRecord& record = get(key, "issue again");
    record.variant = variant ? *variant : random_variant(record.variant);
    return make_mkey(index_of(key), record.variant);
}

void KeyTable::invalidate(Mkey key)
{
    MkeyRecord& record = get(key, "invalidate");
    MkeyRecord freed;
    freed.info.free = true;
    freed.info.pd = record.info.pd;
    freed.variant = record.variant;
    translations_ -= record.info.entry_count;
    record = std::move(freed);
}

Mkey KeyTable::fill(Mkey key, MkeySpec spec)
{
    MkeyRecord& record = get(key, "fill");
    const std::uint8_t variant = spec.variant.value_or(record.variant);
    const std::uint64_t given_up = record.info.entry_count;
    MkeyRecord filled = make_record(std::move(spec), given_up);
    filled.variant = variant;
    translations_ = translations_ - given_up + filled.info.entry_count;
    record = std::move(filled);
    return make_mkey(index_of(key), variant);
}

MkeyInfo KeyTable::query(Mkey key) const
{
    return get(key, "query").info;
}

MkeyRecord& KeyTable::get(Mkey key, const char* what) const
{
    const std::uint32_t index = index_of(key);
    MkeyRecord* const record = index < slots_.size() ? slots_[index].record.get() : nullptr;
    if (record == nullptr || record->variant != variant_of(key))
        refuse_unknown(std::string{what} + " key " + format_hex(key.value),
                       record == nullptr ? "there is no such key" : "the key has another variant byte by now");
    return *record;
}

MkeyRecord KeyTable::make_record(MkeySpec spec, std::uint64_t entries_given_up)
{
    const unsigned nesting = nesting_of(spec);
    if (nesting > limits_.max_nesting)
        throw Error{ELOOP,
                    {Trouble::unsupported, "create a key over other keys",
                     "the levels of keys that the adapter follows", limits_.max_nesting, nesting,
                     "build it over keys that are nested less"}};
    MkeyRecord record = checked_record(std::move(spec), limits_);
    const std::uint64_t total = translations_ - entries_given_up + record.info.entry_count;
    if (total > limits_.translations)
        refuse_full("create a key of " + std::to_string(record.info.entry_count) + " entries",
                    "the adapter's translation entries", limits_.translations, total);
    record.info.nesting = nesting;
    record.first_translation = next_translation_;
    next_translation_ += record.info.entry_count;
    return record;
}

unsigned KeyTable::nesting_of(const MkeySpec& spec) const
{
    if (spec.mode != KeyMode::klm && spec.mode != KeyMode::ksm)
        return 0;
    unsigned deepest = 0;
    for (const IndirectEntry& entry : spec.entries) {
        const MkeyRecord* const inner = find(index_of(entry.key));
        if (inner != nullptr && inner->variant == variant_of(entry.key))
            deepest = std::max(deepest, inner->info.nesting);
    }
    return deepest + 1;
}

Mkey KeyTable::insert(MkeyRecord record, std::optional<std::uint8_t> variant)
{
    if (in_use_ == limits_.keys)
        refuse_full("create a key", "the adapter's keys", limits_.keys, std::uint64_t{limits_.keys} + 1);
    auto owned = std::make_unique<MkeyRecord>(std::move(record));
    const bool used_before = takes_a_vacant_index();
    const std::uint32_t index = used_before ? first_vacant_ : static_cast<std::uint32_t>(slots_.size());
    owned->variant =
        variant ? *variant : random_variant(used_before ? slots_[index].last_variant : std::optional<std::uint8_t>{});
    const Mkey key = make_mkey(index, owned->variant);
    if (used_before)
        first_vacant_ = slots_[index].next_vacant;
    else
        slots_.emplace_back();
    translations_ += owned->info.entry_count;
    slots_[index].record = std::move(owned);
    ++in_use_;
    return key;
}

bool KeyTable::takes_a_vacant_index() const noexcept
{
    const std::size_t vacant = slots_.size() - 1 - in_use_;
    return vacant >= resting_indices || slots_.size() > limits_.keys;
}

std::uint8_t KeyTable::random_variant(std::optional<std::uint8_t> other_than)
{
    for (;;) {
        if (random_left_ == 0) {
            if (getentropy(random_.data(), random_.size()) != 0)
                throw Error{
                    errno,
                    {Trouble::internal, "choose a key that nobody can predict", "getentropy failed", {}, {}, {}}};
            random_left_ = random_.size();
        }
        const std::uint8_t variant = random_[--random_left_];
        if (variant != other_than)
            return variant;
    }
}

} // namespace mrz::hca
