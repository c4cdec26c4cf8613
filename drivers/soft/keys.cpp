// SPDX-License-Identifier: BSD-3-Clause
#include "keys.hpp"

#include "pages.hpp"

#include <string>
#include <utility>

namespace mrz::soft {
namespace {

hca::MkeySpec direct_spec(hca::Pd pd, const PlannedKey& key, const Layout& layout)
{
    hca::MkeySpec spec;
    spec.pd = pd;
    spec.start = key.iova;
    spec.length = key.length;
    spec.page_shift = key.page_shift.value();
    spec.pages = translation_pages(layout.part(key.offset, key.length), key.iova, key.page_shift);
    return spec;
}

hca::MkeySpec indirect_spec(hca::Pd pd, const Plan& plan, const std::vector<OwnedKey>& pieces)
{
    const PlannedIndirect& indirect = *plan.indirect;
    hca::MkeySpec spec;
    spec.mode = indirect.kind == IndirectKind::klm ? hca::KeyMode::klm : hca::KeyMode::ksm;
    spec.pd = pd;
    spec.start = indirect.iova;
    spec.length = plan.bytes;
    if (indirect.entry_shift)
        spec.page_shift = indirect.entry_shift->value();
    spec.entries.reserve(indirect.entries.size());
    for (const IndirectEntry& entry : indirect.entries)
        spec.entries.push_back(
            {.key = pieces[entry.key].get(), .iova = plan.leads_to(entry), .length = entry.length});
    return spec;
}

BuiltKey built(const hca::MkeyInfo& info)
{
    BuiltKey key{.iova = info.start, .length = info.length, .entries = info.entry_count};
    if (info.page_shift != 0)
        key.page_shift = PageShift{info.page_shift};
    if (info.mode == hca::KeyMode::klm)
        key.indirect = IndirectKind::klm;
    else if (info.mode == hca::KeyMode::ksm)
        key.indirect = IndirectKind::ksm;
    return key;
}

} // namespace

OwnedKey::OwnedKey(OwnedKey&& other) noexcept : engine_{std::exchange(other.engine_, nullptr)}, key_{other.key_} {}

OwnedKey& OwnedKey::operator=(OwnedKey&& other) noexcept
{
    std::swap(engine_, other.engine_);
    std::swap(key_, other.key_);
    return *this;
}

OwnedKey::~OwnedKey()
{
    try {
        if (engine_ != nullptr)
            engine_->destroy_mkey(key_);
    } catch (const std::exception& error) { // nobody else destroys it, so only for want of memory
        log(Severity::error, std::string{"soft: a key could not be destroyed: "} + error.what());
    }
}

// Two records for the two sides: on hardware one serves both, and mixing them up goes unnoticed until a peer is
// another machine. What is under an indirect key is the owner's (see hca::IndirectEntry), so it serves both.
MemoryKeys::MemoryKeys(hca::Hca& engine, hca::Pd pd, Access access, const Plan& plan, const Layout& layout)
{
    hca::MkeySpec spec;
    if (plan.indirect) {
        pieces_.reserve(plan.keys.size());
        for (const PlannedKey& key : plan.keys) {
            hca::MkeySpec piece = direct_spec(pd, key, layout);
            piece.rights = hca::local_rights(access);
            pieces_.emplace_back(engine, engine.create_mkey(std::move(piece)));
        }
        spec = indirect_spec(pd, plan, pieces_);
    } else {
        spec = direct_spec(pd, plan.keys.front(), layout);
    }
    spec.rights = hca::remote_rights(access);
    remote_ = OwnedKey{engine,
                       spec.rights == hca::KeyRights::none ? engine.create_free_mkey(pd) : engine.create_mkey(spec)};
    spec.rights = hca::local_rights(access);
    local_ = OwnedKey{engine, engine.create_mkey(std::move(spec))};
}

std::vector<BuiltKey> MemoryKeys::query(hca::Hca& engine) const
{
    std::vector<BuiltKey> keys;
    for (const OwnedKey& piece : pieces_)
        keys.push_back(built(engine.query_mkey(piece.get())));
    keys.push_back(built(engine.query_mkey(local_.get())));
    return keys;
}

RKey MemoryKeys::reissue()
{
    remote_.reissue();
    return rkey();
}

void MemoryKeys::abandon() noexcept
{
    for (OwnedKey& piece : pieces_)
        piece.abandon();
    remote_.abandon();
    local_.abandon();
}

} // namespace mrz::soft
