// SPDX-License-Identifier: BSD-3-Clause
#include "mkey.hpp"

#include <layouts/memory.hpp>
#include <layouts/wqe.hpp>

#include <algorithm>
#include <utility>

namespace mrz::mlx5 {
namespace {

namespace mkc = layouts::mkc;

constexpr std::uint16_t create_mkey = 0x200;
constexpr std::uint16_t query_mkey = 0x201;

// mlx5_ifc.h, MLX5_MKC_ACCESS_MODE_…
constexpr std::uint64_t mode_mtt = 1;
constexpr std::uint64_t mode_klms = 2;
constexpr std::uint64_t mode_ksm = 3;

constexpr std::uint64_t every_queue_pair = 0xffffff;
constexpr std::size_t entry_bytes = layouts::klm::bytes;

void write(std::span<std::byte> context, const MkeySpec& spec, std::uint64_t mode)
{
    const auto set = [&](layouts::Field field, std::uint64_t value) { layouts::set(context, field, value); };
    set(mkc::access_mode_1_0, mode);
    set(mkc::lr, spec.local_read ? 1 : 0);
    set(mkc::lw, grants(spec.access, Access::local_write) ? 1 : 0);
    set(mkc::rr, grants(spec.access, Access::remote_read) ? 1 : 0);
    set(mkc::rw, grants(spec.access, Access::remote_write) ? 1 : 0);
    set(mkc::a, grants(spec.access, Access::remote_atomic) ? 1 : 0);
    set(mkc::relaxed_ordering_write, spec.relaxed_write ? 1 : 0);
    set(mkc::relaxed_ordering_read, spec.relaxed_read ? 1 : 0);
    set(mkc::qpn, every_queue_pair);
    set(mkc::mkey_7_0, spec.variant);
    set(mkc::pd, spec.pd);
    set(mkc::start_addr, spec.start.value());
    set(mkc::len, spec.length);
}

std::uint64_t pages_touched(Iova start, std::uint64_t length, PageShift page)
{
    return ((start.value() + (length - 1)) >> page.value()) - (start.value() >> page.value()) + 1;
}

} // namespace

void write_entry(std::span<std::byte> into, const MkeyEntry& entry) noexcept
{
    layouts::set(into, layouts::klm::bcount, entry.length);
    layouts::set(into, layouts::klm::key, entry.mkey);
    layouts::set(into, layouts::klm::va, entry.iova.value());
}

Command create_direct_mkey(const MkeySpec& spec, std::uint32_t umem_id, std::uint64_t offset)
{
    namespace in = layouts::create_mkey_in;
    Command command{create_mkey, in::bytes};
    write(command.part(in::memory_key_mkey_entry), spec, mode_mtt);
    command.set(in::mkey_umem_valid, 1);
    command.set(in::mkey_umem_id, umem_id);
    command.set(in::mkey_umem_offset, offset);
    return command;
}

Command create_indirect_mkey(const MkeySpec& spec, std::span<const MkeyEntry> entries,
                             std::optional<PageShift> entry_shift)
{
    namespace in = layouts::create_mkey_in;
    const std::size_t listed = listed_entries(entries.size());
    Command command{create_mkey, in::bytes + listed * entry_bytes};
    const std::span<std::byte> context = command.part(in::memory_key_mkey_entry);
    write(context, spec, entry_shift ? mode_ksm : mode_klms);
    layouts::set(context, mkc::translations_octword_size, listed);
    if (entry_shift)
        layouts::set(context, mkc::log_page_size, entry_shift->value());
    command.set(in::translations_octword_actual_size, listed);
    const std::span<std::byte> list = command.part(in::klm_pas_mtt);
    for (std::size_t i = 0; i < entries.size(); ++i) {
        MkeyEntry entry = entries[i];
        if (entry_shift) // its length is the key's, and its place is reserved
            entry.length = 0;
        write_entry(list.subspan(i * entry_bytes, entry_bytes), entry);
    }
    return command;
}

Command create_movable_mkey(const MkeySpec& spec, std::size_t entries)
{
    namespace in = layouts::create_mkey_in;
    Command command{create_mkey, in::bytes};
    const std::span<std::byte> context = command.part(in::memory_key_mkey_entry);
    write(context, spec, mode_klms);
    layouts::set(context, mkc::free, 1);
    layouts::set(context, mkc::umr_en, 1);
    layouts::set(context, mkc::translations_octword_size, listed_entries(entries));
    return command;
}

std::optional<MkeyInfo> parse_mkey(std::span<const std::byte> answer)
{
    const std::span<const std::byte> context = layouts::part(answer, layouts::query_mkey_out::memory_key_mkey_entry);
    const auto get = [&](layouts::Field field) { return layouts::get(context, field); };
    const std::uint64_t mode = get(mkc::access_mode_4_2) << 2 | get(mkc::access_mode_1_0);
    const std::uint64_t shift = get(mkc::log_page_size);
    const std::uint64_t octwords = get(mkc::translations_octword_size);
    MkeyInfo info;
    info.built.iova = Iova{get(mkc::start_addr)};
    info.built.length = get(mkc::len);
    if (mode != mode_klms) {
        // Only of a key over a umem does a device need no page size, as the umem has one.
        if (shift < PageShift::least || shift > 63 || info.built.length == 0)
            return std::nullopt;
        info.built.page_shift = PageShift{static_cast<unsigned>(shift)};
    }
    if (mode == mode_mtt) {
        // Two to an octword; a device may leave them to the umem.
        info.built.entries = pages_touched(info.built.iova, info.built.length, info.built.page_shift);
        if (octwords != 0 && octwords != (info.built.entries + 1) / 2)
            info.built.entries = 2 * octwords;
    } else {
        info.built.indirect = mode == mode_ksm ? IndirectKind::ksm : IndirectKind::klm;
        info.built.entries = octwords;
    }
    info.local_read = get(mkc::lr) != 0;
    const auto add = [&](layouts::Field field, Access right) {
        if (get(field) != 0)
            info.access = info.access | right;
    };
    add(mkc::lw, Access::local_write);
    add(mkc::rr, Access::remote_read);
    add(mkc::rw, Access::remote_write);
    add(mkc::a, Access::remote_atomic);
    return info;
}

Mkey::Mkey(std::shared_ptr<verbs::Context> context, const Command& command, std::uint8_t variant)
    : object_{std::move(context), command, layouts::create_mkey_out::bytes},
      value_{static_cast<std::uint32_t>(layouts::get(object_.answer(), layouts::create_mkey_out::mkey_index) << 8) |
             variant}
{
}

std::optional<MkeyInfo> Mkey::query() const
{
    Command command{query_mkey, layouts::query_mkey_in::bytes};
    command.set(layouts::query_mkey_in::mkey_index, value_ >> 8);
    return parse_mkey(object_.query(command, layouts::query_mkey_out::bytes));
}

} // namespace mrz::mlx5
