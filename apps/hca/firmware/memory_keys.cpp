// SPDX-License-Identifier: BSD-3-Clause
#include "firmware/memory_keys.hpp"

#include "firmware/domains.hpp"
#include "layouts/life.hpp"
#include "layouts/memory.hpp"

#include <mrzone/base.hpp>

#include <algorithm>
#include <limits>
#include <memory>
#include <string>
#include <utility>

namespace mrz::firmware {

namespace {

namespace mkc = layouts::mkc;
using layouts::get;
using layouts::part;
using layouts::set;

constexpr std::uint32_t own_keys = 2;            // special()
constexpr std::uint32_t no_agreement = 0x317175; // what ConnectX firmware says of it

//! The page size and pages that a umem gives a key that begins \p offset bytes into it.
void take_pages(const Umem& umem, std::uint64_t offset, KeyContext& context)
{
    const dma::PageList& list = umem.pages();
    const std::uint64_t page = 1ULL << list.page_shift();
    const std::uint64_t start = context.get(mkc::start_addr);
    const std::uint64_t length = context.get(mkc::len);
    if (offset > list.bytes() || length > list.bytes() - offset)
        throw Refusal{Status::bad_param, "the key ends beyond its umem, which has " + format_size(list.bytes())};
    const std::uint64_t at = list.offset() + offset;
    if (start % page != at % page)
        throw Refusal{Status::bad_param, no_agreement,
                      "the key's start " + format_hex(start) + " and its place " + format_hex(at) +
                          " in the umem disagree modulo the page size " + format_size(page)};
    const auto pages = list.pages().subspan(at / page);
    const std::uint64_t needed = length == 0 ? 0 : (start % page + (length - 1)) / page + 1;
    context.words.clear();
    for (const DmaAddress address : pages.first(std::min<std::size_t>(needed, pages.size())))
        context.words.push_back(address.value());
    context.set(mkc::log_page_size, list.page_shift());
    context.set(mkc::translations_octword_size, (context.words.size() + 1) / 2);
}

bool asks_to_write(const KeyContext& context)
{
    return context.get(mkc::lw) != 0 || context.get(mkc::rw) != 0 || context.get(mkc::a) != 0;
}

} // namespace

void MemoryKey::end()
{
    keys_.end_key(number());
}

MemoryKeys::MemoryKeys(const Context& context) : context_{context}
{
    limit(context_.engine.options().keys.keys);
}

void MemoryKeys::limit(std::uint32_t most)
{
    // Adapters whose keys are used up say "limits exceeded", since their drivers say ENOMEM.
    const std::uint32_t there_are = context_.engine.options().keys.keys - own_keys;
    context_.objects.limit(Kind::mkey, 0, std::min(most, there_are), Status::lim);
}

void MemoryKeys::add_to(Commands& commands)
{
    commands.add({0x200, "CREATE_MKEY", layouts::create_mkey_in::klm_pas_mtt.offset, 16,
                  [this](const Command& command) { create(command); }});
    commands.add({0x201, "QUERY_MKEY", 16, layouts::query_mkey_out::bsf0_klm0_pas_mtt0_1.offset,
                  [this](const Command& command) { query(command); }});
    commands.add({0x202, "DESTROY_MKEY", 16, 16, [this](const Command& command) {
                      context_.objects.destroy(
                          Kind::mkey,
                          static_cast<std::uint32_t>(get(command.in, layouts::destroy_mkey_in::mkey_index)),
                          command.uid);
                  }});
    commands.add({0x203, "QUERY_SPECIAL_CONTEXTS", 16, 20, [this](const Command& command) {
                      const SpecialKeys keys = special();
                      set(command.out, layouts::query_special_contexts_out::resd_lkey, keys.reserved_lkey.value);
                      set(command.out, layouts::query_special_contexts_out::null_mkey, keys.null.value);
                  }});
}

void MemoryKeys::begin()
{
    const std::lock_guard lock{mutex_};
    hca::Hca& engine = context_.engine;
    own_pd_ = engine.alloc_pd();
    begun_ = true;
    const auto all = [&](hca::KeyMode mode) {
        hca::MkeySpec spec;
        spec.mode = mode;
        spec.pd = own_pd_;
        spec.every_pd = true;
        spec.rights = hca::KeyRights::local_read | hca::KeyRights::local_write;
        spec.length = std::numeric_limits<std::uint64_t>::max();
        spec.variant = 0;
        return spec;
    };
    hca::MkeySpec reserved = all(hca::KeyMode::pa);
    reserved.privileged = true;
    special_.reserved_lkey = engine.create_mkey(std::move(reserved));
    special_.null = engine.create_mkey(all(hca::KeyMode::null));
}

void MemoryKeys::end() noexcept
{
    const std::lock_guard lock{mutex_};
    if (!begun_)
        return;
    try {
        for (hca::Mkey* const key : {&special_.reserved_lkey, &special_.null})
            if (key->value != 0)
                context_.engine.destroy_mkey(std::exchange(*key, hca::Mkey{}));
        context_.engine.dealloc_pd(own_pd_);
    } catch (const std::exception& error) {
        log(Severity::error, std::string{"the adapter's own keys do not end: "} + error.what());
    }
    begun_ = false;
}

SpecialKeys MemoryKeys::special() const
{
    const std::lock_guard lock{mutex_};
    return special_;
}

void MemoryKeys::create(const Command& command)
{
    namespace in = layouts::create_mkey_in;
    KeyContext context;
    std::ranges::copy(part(command.in, in::memory_key_mkey_entry), context.mkc.begin());
    check_modelled(context);
    const std::uint64_t octwords = get(command.in, in::translations_octword_actual_size);
    const auto entries = part(command.in, in::klm_pas_mtt);
    const bool of_umem = get(command.in, in::mkey_umem_valid) != 0 && context.mode() == AccessMode::mtt;
    if (octwords > entries.size() / 16)
        throw Refusal{Status::bad_inp_len, "there are fewer translations than " + std::to_string(2 * octwords)};
    // A process may not name physical memory but by what the kernel gave it a umem of.
    if (command.uid != 0 && (context.mode() == AccessMode::pa || (context.mode() == AccessMode::mtt && !of_umem)))
        throw Refusal{Status::bad_param, "a user context's keys have umems or other keys below them"};
    if (!of_umem && 2 * octwords > context.most_words())
        throw Refusal{Status::bad_param, "the key has room for " + std::to_string(context.most_words()) +
                                             " words of translations, not for " + std::to_string(2 * octwords)};
    context_.objects.require_room(Kind::mkey);

    Use<Umem> umem;
    if (of_umem)
        umem = read_umem(command, context);
    else
        context.write_words(0, entries.first(16 * octwords));
    if (!context.free() || context.get(mkc::pd) != 0)
        (void)context_.objects.find<ProtectionDomain>(static_cast<std::uint32_t>(context.get(mkc::pd)), command.uid);

    const std::lock_guard lock{mutex_};
    const std::uint64_t words = context.words.size();
    require_words(words);
    const hca::Mkey key = build(context);
    const std::uint32_t index = hca::index_of(key);
    try {
        known_.emplace(index, Known{key, command.uid, of_umem, std::move(context)});
        context_.objects.add(std::make_shared<MemoryKey>(*this, index, command.uid, std::move(umem)));
    } catch (...) {
        known_.erase(index);
        context_.engine.destroy_mkey(key);
        throw;
    }
    words_ += words;
    set(command.out, layouts::create_mkey_out::mkey_index, index);
}

Use<Umem> MemoryKeys::read_umem(const Command& command, KeyContext& context) const
{
    namespace in = layouts::create_mkey_in;
    Use<Umem> umem =
        context_.objects.use<Umem>(static_cast<std::uint32_t>(get(command.in, in::mkey_umem_id)), command.uid);
    if (asks_to_write(context) && !umem->writable())
        throw Refusal{Status::bad_param, "the umem may only be read"};
    take_pages(*umem, get(command.in, in::mkey_umem_offset), context);
    return umem;
}

void MemoryKeys::query(const Command& command) const
{
    const auto index = static_cast<std::uint32_t>(get(command.in, layouts::query_mkey_in::mkey_index));
    (void)context_.objects.find<MemoryKey>(index, command.uid);
    const std::lock_guard lock{mutex_};
    const KeyContext& context = known_.at(index).context;
    namespace out = layouts::query_mkey_out;
    std::ranges::copy(context.mkc, part(command.out, out::memory_key_mkey_entry).begin());
    const auto first = part(command.out, layouts::Block{out::bsf0_klm0_pas_mtt0_1.offset, 0});
    for (std::size_t i = 0; i < std::min<std::size_t>(4, context.words.size()); ++i)
        set(first, layouts::shifted({0, 64}, 8 * i), context.words[i]);
}

void MemoryKeys::end_key(std::uint32_t index)
{
    const std::lock_guard lock{mutex_};
    const auto found = known_.find(index);
    if (found == known_.end())
        return;
    context_.engine.destroy_mkey(found->second.key);
    words_ -= found->second.context.words.size();
    known_.erase(found);
}

void MemoryKeys::require_words(std::uint64_t more) const
{
    // A KLM or KSM entry is two words, and an MTT entry one.
    const std::uint64_t most = 2 * context_.engine.options().keys.translations;
    if (more > most - words_)
        throw Refusal{Status::no_res, "the keys would have " + std::to_string(words_ + more) +
                                          " words of translations, and there are " + std::to_string(most)};
}

hca::Mkey MemoryKeys::build(const KeyContext& context)
{
    if (context.free())
        return context_.engine.create_free_mkey(own_pd_, context.variant());
    return context_.engine.create_mkey(spec_of(context));
}

std::vector<MemoryKeys::Shown> MemoryKeys::shown(std::size_t words) const
{
    const std::lock_guard lock{mutex_};
    std::vector<Shown> all;
    all.reserve(known_.size());
    for (const auto& [index, known] : known_) {
        Shown& one = all.emplace_back(Shown{known.key, known.uid, known.umem, {}});
        one.context.mkc = known.context.mkc;
        const auto count = static_cast<std::ptrdiff_t>(std::min(words, known.context.words.size()));
        one.context.words.assign(known.context.words.begin(), known.context.words.begin() + count);
    }
    std::ranges::sort(all, {}, [](const Shown& one) { return one.key.value; });
    return all;
}

} // namespace mrz::firmware
