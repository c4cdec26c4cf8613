// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Translation as one would write it without caring for speed: byte by byte, each byte from the top.
#pragma once

#include <hca/translate.hpp>

#include <optional>
#include <vector>

namespace mrz::hca {

//! Where one byte is; none if it may not be reached.
inline std::optional<DmaSegment> find_byte(const KeyTable& keys, const KeyUse& use, unsigned level)
{
    const MkeyRecord* const record = keys.find(index_of(use.key));
    if (level > keys.limits().max_nesting || record == nullptr || record->variant != variant_of(use.key))
        return std::nullopt;
    const MkeyInfo& info = record->info;
    const std::uint64_t at = use.at.value();
    const std::uint64_t last = info.start.value() + (info.length - 1);
    if (info.free || (info.pd != use.pd && !info.every_pd) || (info.privileged && !use.privileged) ||
        !grants(info.rights, use.needs) || at < info.start.value() || at > last)
        return std::nullopt;
    if (info.mode == KeyMode::pa)
        return DmaSegment{DmaAddress{at}, 1, false};
    if (info.mode == KeyMode::null)
        return DmaSegment{DmaAddress{}, 1, true};
    const bool reads = use.needs == KeyRights::local_read || use.needs == KeyRights::remote_read;
    const bool writes = use.needs == KeyRights::local_write || use.needs == KeyRights::remote_write;
    const KeyRights needs = reads    ? KeyRights::local_read
                            : writes ? KeyRights::local_write
                                     : KeyRights::local_read | KeyRights::local_write;
    if (info.mode == KeyMode::klm) {
        std::uint64_t left = at - info.start.value();
        for (const IndirectEntry& entry : record->entries) {
            if (left < entry.length)
                return find_byte(keys, {entry.key, entry.iova + left, 1, needs, use.pd, use.privileged}, level + 1);
            left -= entry.length;
        }
        return std::nullopt;
    }
    const std::uint64_t size = std::uint64_t{1} << info.page_shift;
    const std::uint64_t number = at / size - info.start.value() / size;
    if (info.mode == KeyMode::mtt)
        return DmaSegment{record->pages.at(number) + at % size, 1, false};
    const IndirectEntry& entry = record->entries.at(number);
    return find_byte(keys, {entry.key, entry.iova + at % size, 1, needs, use.pd, use.privileged}, level + 1);
}

struct PlainTranslation {
    bool granted = true;
    std::vector<DmaSegment> segments;
};

//! For uses of one right.
inline PlainTranslation translate_plainly(const KeyTable& keys, const KeyUse& use)
{
    PlainTranslation result;
    for (std::uint64_t i = 0; i < use.length; ++i) {
        const std::optional<DmaSegment> byte =
            find_byte(keys, {use.key, use.at + i, 1, use.needs, use.pd, use.privileged}, 0);
        // No key goes on at address 0 after the last one.
        if (!byte || (i != 0 && use.at.value() + i == 0))
            return {false, {}};
        if (result.segments.empty()) {
            result.segments.push_back(*byte);
            continue;
        }
        DmaSegment& last = result.segments.back();
        if (last.null == byte->null && (last.null || last.at + last.length == byte->at))
            ++last.length;
        else
            result.segments.push_back(*byte);
    }
    return result;
}

} // namespace mrz::hca
