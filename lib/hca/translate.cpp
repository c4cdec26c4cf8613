// SPDX-License-Identifier: BSD-3-Clause
#include <hca/translate.hpp>

#include <algorithm>

namespace mrz::hca {
namespace {

// What a key must grant for the pieces of an indirect key over it: see IndirectEntry.
KeyRights needs_of_piece(KeyRights needs)
{
    KeyRights inner = KeyRights::none;
    if ((needs & (KeyRights::local_read | KeyRights::remote_read | KeyRights::remote_atomic)) != KeyRights::none)
        inner = inner | KeyRights::local_read;
    if ((needs & (KeyRights::local_write | KeyRights::remote_write | KeyRights::remote_atomic)) != KeyRights::none)
        inner = inner | KeyRights::local_write;
    return inner;
}

Violation append(DmaSegment segment, std::vector<DmaSegment>& segments, std::size_t limit)
{
    if (!segments.empty()) {
        DmaSegment& last = segments.back();
        if (last.null == segment.null && (last.null || last.at + last.length == segment.at)) {
            last.length += segment.length;
            return Violation::none;
        }
    }
    if (segments.size() >= limit)
        return Violation::scattered;
    segments.push_back(segment);
    return Violation::none;
}

} // namespace

std::string_view to_string(Violation violation) noexcept
{
    switch (violation) {
    case Violation::none:
        return "none";
    case Violation::no_key:
        return "no such key";
    case Violation::variant:
        return "wrong variant byte";
    case Violation::domain:
        return "foreign protection domain";
    case Violation::rights:
        return "right not granted";
    case Violation::bounds:
        return "out of bounds";
    case Violation::nesting:
        return "keys nested too deep";
    case Violation::scattered:
        return "too many pieces";
    }
    return "unknown";
}

WcStatus local_status(Violation violation) noexcept
{
    switch (violation) {
    case Violation::none:
        return WcStatus::success;
    case Violation::scattered:
        return WcStatus::local_qp_operation_error;
    default:
        return WcStatus::local_protection_error;
    }
}

WcStatus remote_status(Violation violation) noexcept
{
    switch (violation) {
    case Violation::none:
        return WcStatus::success;
    case Violation::scattered:
        return WcStatus::remote_operation_error;
    default:
        return WcStatus::remote_access_error;
    }
}

Violation Translator::translate(const KeyUse& use, std::vector<DmaSegment>& segments) const
{
    const std::size_t before = segments.size();
    // The last segment may grow by merging, so a refusal has to shorten it again.
    const std::uint64_t last_length = before == 0 ? 0 : segments.back().length;
    Walk so_far{segments};
    const Violation violation = walk(use, 0, so_far);
    if (violation != Violation::none) {
        segments.resize(before);
        if (before != 0)
            segments.back().length = last_length;
    }
    return violation;
}

Violation Translator::walk(const KeyUse& use, unsigned level, Walk& so_far) const
{
    if (use.length == 0)
        return Violation::none;
    if (level > keys_.limits().max_nesting)
        return Violation::nesting;
    const MkeyRecord* const record = keys_.find(index_of(use.key));
    if (record == nullptr)
        return Violation::no_key;
    mpt_cache_.touch(index_of(use.key));
    const MkeyInfo& info = record->info;
    if (record->variant != variant_of(use.key))
        return Violation::variant;
    if (info.free)
        return Violation::no_key;
    if ((info.pd != use.pd && !info.every_pd) || (info.privileged && !use.privileged))
        return Violation::domain;
    if (!grants(info.rights, use.needs))
        return Violation::rights;
    // In this form nothing can overflow: a record's range does not wrap.
    if (use.at.value() < info.start.value() || use.length > info.length ||
        use.at - info.start > info.length - use.length)
        return Violation::bounds;
    switch (info.mode) {
    case KeyMode::pa:
        return append({DmaAddress{use.at.value()}, use.length, false}, so_far.segments, max_segments);
    case KeyMode::null:
        return append({DmaAddress{}, use.length, true}, so_far.segments, max_segments);
    case KeyMode::mtt:
        return walk_pages(*record, use, so_far.segments);
    case KeyMode::klm:
    case KeyMode::ksm:
        break;
    }
    return walk_keys(*record, use, level, so_far);
}

Violation Translator::walk_pages(const MkeyRecord& record, const KeyUse& use, std::vector<DmaSegment>& segments) const
{
    const unsigned shift = record.info.page_shift;
    const std::uint64_t page_size = 1ULL << shift;
    std::uint64_t entry = (use.at.value() >> shift) - (record.info.start.value() >> shift);
    std::uint64_t offset = use.at.value() & (page_size - 1);
    for (std::uint64_t left = use.length; left != 0; ++entry) {
        const std::uint64_t length = std::min(left, page_size - offset);
        mtt_cache_.touch(record.first_translation + entry);
        const Violation violation = append({record.pages[entry] + offset, length, false}, segments, max_segments);
        if (violation != Violation::none)
            return violation;
        left -= length;
        offset = 0;
    }
    return Violation::none;
}

Violation Translator::walk_keys(const MkeyRecord& record, const KeyUse& use, unsigned level, Walk& so_far) const
{
    const unsigned shift = record.info.page_shift;
    std::uint64_t entry = 0;
    std::uint64_t offset = 0; // in the entry
    if (record.info.mode == KeyMode::ksm) {
        entry = (use.at.value() >> shift) - (record.info.start.value() >> shift);
        offset = use.at.value() & ((1ULL << shift) - 1);
    } else {
        const std::uint64_t place = use.at - record.info.start;
        const auto end = std::upper_bound(record.ends.begin(), record.ends.end(), place);
        entry = static_cast<std::uint64_t>(end - record.ends.begin());
        offset = place - (entry == 0 ? 0 : record.ends[entry - 1]);
    }
    const KeyRights needs = needs_of_piece(use.needs);
    for (std::uint64_t left = use.length; left != 0; ++entry) {
        if (++so_far.pieces > max_pieces)
            return Violation::scattered;
        const IndirectEntry& piece = record.entries[entry];
        const std::uint64_t size = record.info.mode == KeyMode::ksm ? 1ULL << shift : piece.length;
        const std::uint64_t length = std::min(left, size - offset);
        mtt_cache_.touch(record.first_translation + entry);
        const Violation violation =
            walk({piece.key, piece.iova + offset, length, needs, use.pd, use.privileged}, level + 1, so_far);
        if (violation != Violation::none)
            return violation;
        left -= length;
        offset = 0;
    }
    return Violation::none;
}

} // namespace mrz::hca
