// SPDX-License-Identifier: BSD-3-Clause
#include "firmware/key_context.hpp"

#include "layouts/memory.hpp"

#include <mrzone/base.hpp>

#include <algorithm>
#include <limits>
#include <string>

namespace mrz::firmware {

namespace {

namespace mkc = layouts::mkc;

//! What an entry of the MTT says besides its address: the lowest byte.
constexpr std::uint64_t mtt_flags = 0xff;
constexpr std::uint64_t any_queue_pair = 0xff'ffff;

hca::KeyRights rights_of(const KeyContext& context)
{
    hca::KeyRights rights = hca::KeyRights::none;
    const auto add = [&](layouts::Field field, hca::KeyRights right) {
        if (context.get(field) != 0)
            rights = rights | right;
    };
    add(mkc::lr, hca::KeyRights::local_read);
    add(mkc::lw, hca::KeyRights::local_write);
    add(mkc::rr, hca::KeyRights::remote_read);
    add(mkc::rw, hca::KeyRights::remote_write);
    add(mkc::a, hca::KeyRights::remote_atomic);
    return rights;
}

//! How many naturally aligned pages the key touches: entries that it needs.
std::uint64_t pages_of(const hca::MkeySpec& spec)
{
    if (spec.page_shift > 63 || spec.length == 0)
        return 0; // the engine refuses it, and says why
    const std::uint64_t start = spec.start.value();
    return ((start + (spec.length - 1)) >> spec.page_shift) - (start >> spec.page_shift) + 1;
}

void require_words(const KeyContext& context, std::uint64_t needed)
{
    if (context.words.size() < needed)
        throw Refusal{Status::bad_param, "the key needs " + std::to_string(needed) +
                                             " words of translations, and there are " +
                                             std::to_string(context.words.size())};
}

hca::IndirectEntry entry_of(const KeyContext& context, std::size_t index)
{
    const std::uint64_t head = context.words[2 * index];
    return {hca::Mkey{static_cast<std::uint32_t>(head)}, Iova{context.words[2 * index + 1]}, head >> 32};
}

} // namespace

bool KeyContext::free() const noexcept
{
    return get(mkc::free) != 0;
}

std::uint8_t KeyContext::variant() const noexcept
{
    return static_cast<std::uint8_t>(get(mkc::mkey_7_0));
}

AccessMode KeyContext::mode() const
{
    const std::uint64_t mode = get(mkc::access_mode_4_2) << 2 | get(mkc::access_mode_1_0);
    if (mode > static_cast<std::uint64_t>(AccessMode::ksm))
        throw Refusal{Status::bad_param, "there are no keys of access mode " + std::to_string(mode)};
    return static_cast<AccessMode>(mode);
}

unsigned KeyContext::page_shift() const noexcept
{
    return static_cast<unsigned>(get(mkc::log_page_size));
}

std::uint64_t KeyContext::most_words() const noexcept
{
    return 2 * get(mkc::translations_octword_size);
}

void KeyContext::write_words(std::uint64_t at, std::span<const std::byte> bytes)
{
    // Requests write units of 64 bytes (mlx5_ib.h, MLX5_UMR_FLEX_ALIGNMENT), and so keys have whole ones.
    static constexpr std::uint64_t unit = 8;
    const std::uint64_t room = (most_words() + unit - 1) / unit * unit;
    const std::uint64_t first = 2 * at;
    const std::uint64_t count = bytes.size() / 8;
    if (at > room / 2 || count > room - first)
        throw Refusal{Status::bad_param, "the key has room for " + std::to_string(room) +
                                             " words of translations, not for " + std::to_string(count) + " from " +
                                             std::to_string(first) + " on"};
    words.resize(std::max<std::size_t>(words.size(), first + count));
    for (std::uint64_t i = 0; i < count; ++i)
        words[first + i] = layouts::get(bytes.subspan(8 * i, 8), {0, 64});
}

void check_modelled(const KeyContext& context)
{
    const auto refuse = [&](layouts::Field field, const char* what) {
        if (context.get(field) != 0)
            throw Refusal{Status::bad_param, std::string{"keys of this device have no "} + what};
    };
    (void)context.mode();
    refuse(mkc::bsf_en, "signatures");
    refuse(mkc::ma_translation_mode, "translation services");
    if (const std::uint64_t qpn = context.get(mkc::qpn); qpn != 0 && qpn != any_queue_pair)
        throw Refusal{Status::bad_param, "keys of this device are for all queue pairs of their domain, not for " +
                                             format_hex(qpn) + " alone"};
    if (context.get(mkc::length64) != 0 && context.mode() != AccessMode::pa)
        throw Refusal{Status::bad_param, "only a key of physical addresses covers them all"};
}

hca::MkeySpec spec_of(const KeyContext& context)
{
    hca::MkeySpec spec;
    spec.pd = hca::Pd{static_cast<std::uint32_t>(context.get(mkc::pd))};
    spec.rights = rights_of(context);
    spec.start = Iova{context.get(mkc::start_addr)};
    spec.length = context.get(mkc::len);
    spec.variant = context.variant();
    switch (context.mode()) {
    case AccessMode::pa:
        spec.mode = hca::KeyMode::pa;
        if (context.get(mkc::length64) != 0) {
            spec.start = Iova{0};
            spec.length = std::numeric_limits<std::uint64_t>::max();
        }
        break;
    case AccessMode::mtt: {
        spec.mode = hca::KeyMode::mtt;
        spec.page_shift = context.page_shift();
        const std::uint64_t pages = pages_of(spec);
        require_words(context, pages);
        spec.pages.reserve(pages);
        for (std::size_t i = 0; i < pages; ++i)
            spec.pages.emplace_back(context.words[i] & ~mtt_flags);
        break;
    }
    case AccessMode::ksm: {
        spec.mode = hca::KeyMode::ksm;
        spec.page_shift = context.page_shift();
        const std::uint64_t pieces = pages_of(spec);
        if (pieces > context.words.size() / 2)
            require_words(context, std::max<std::uint64_t>(pieces, 2 * pieces));
        spec.entries.reserve(pieces);
        for (std::size_t i = 0; i < pieces; ++i)
            spec.entries.push_back(entry_of(context, i));
        break;
    }
    case AccessMode::klms: {
        spec.mode = hca::KeyMode::klm;
        std::uint64_t covered = 0;
        for (std::size_t i = 0; i < context.words.size() / 2 && covered < spec.length; ++i) {
            spec.entries.push_back(entry_of(context, i));
            covered += spec.entries.back().length;
        }
        break;
    }
    }
    return spec;
}

} // namespace mrz::firmware
