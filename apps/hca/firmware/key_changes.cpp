// SPDX-License-Identifier: BSD-3-Clause
// What UMR work requests change of memory keys.
#include "firmware/memory_keys.hpp"

#include "layouts/memory.hpp"

#include <mrzone/base.hpp>

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

namespace mrz::firmware {

namespace {

namespace mkc = layouts::mkc;

struct Masked {
    unsigned bit; //!< Of MLX5_MKEY_MASK_…, Linux's include/linux/mlx5/device.h.
    layouts::Field field;
};
// Linux's drivers/infiniband/hw/mlx5/umr.c: the sixth bit came later, with a bit of the mask of its own.
constexpr layouts::Field low_bits_of_page_size{mkc::log_page_size.offset + 1, 5};
constexpr layouts::Field top_bit_of_page_size{mkc::log_page_size.offset, 1};
constexpr std::array maskable{
    Masked{0, mkc::len},
    Masked{1, low_bits_of_page_size},
    Masked{6, mkc::start_addr},
    Masked{7, mkc::pd},
    Masked{8, mkc::en_rinval},
    Masked{13, mkc::mkey_7_0},
    Masked{14, mkc::qpn},
    Masked{17, mkc::lr},
    Masked{18, mkc::lw},
    Masked{19, mkc::rr},
    Masked{20, mkc::rw},
    Masked{21, mkc::a},
    Masked{23, mkc::small_fence_on_rdma_read_response},
    Masked{25, mkc::relaxed_ordering_write},
    Masked{29, mkc::free},
    Masked{42, top_bit_of_page_size},
    Masked{47, mkc::relaxed_ordering_read},
};

constexpr std::uint64_t known_bits()
{
    std::uint64_t bits = 0;
    for (const Masked& masked : maskable)
        bits |= 1ULL << masked.bit;
    return bits;
}

void merge(KeyContext& context, std::uint64_t mask, std::span<const std::byte> from)
{
    if ((mask & ~known_bits()) != 0)
        throw Refusal{Status::bad_param, "a request would change more of a key than there is: " + format_hex(mask)};
    if (mask != 0 && from.size() < context.mkc.size())
        throw Refusal{Status::bad_param, "a request to change a key is cut off"};
    for (const Masked& masked : maskable)
        if ((mask >> masked.bit & 1) != 0)
            context.set(masked.field, layouts::get(from, masked.field));
}

} // namespace

void MemoryKeys::change(const KeyChange& change)
{
    const std::lock_guard lock{mutex_};
    const std::string what = "memory key " + format_hex(change.index);
    const auto found = known_.find(change.index);
    if (found == known_.end())
        throw Refusal{Status::bad_res, "there is no " + what};
    Known& known = found->second;
    const KeyContext& old = known.context;
    if (change.variant && *change.variant != old.variant())
        throw Refusal{Status::bad_res, what + " has another variant byte by now"};
    if (change.expect == KeyChange::Expect::free && !old.free())
        throw Refusal{Status::bad_res_state, what + " is not free"};
    if (change.expect == KeyChange::Expect::not_free && old.free())
        throw Refusal{Status::bad_res_state, what + " is free"};
    if (change.pd && old.get(mkc::pd) != static_cast<std::uint32_t>(*change.pd))
        throw Refusal{Status::bad_res, what + " is of another protection domain"};
    // What a key says of memory itself, and who may write there, the kernel has checked and no process may change.
    if (change.over_keys_only && old.mode() != AccessMode::klms && old.mode() != AccessMode::ksm)
        throw Refusal{Status::bad_res, what + " is not over other keys, and only the kernel's queue pairs change it"};
    if (old.get(mkc::umr_en) == 0)
        throw Refusal{Status::bad_res_state, what + " is not to be changed by requests"};
    if (known.umem && !change.translations.empty())
        throw Refusal{Status::bad_res_state, what + " is a umem's"};

    // In place, so that filling a large key part by part does not copy it each time; undone where that fails.
    const auto old_mkc = old.mkc;
    const std::uint64_t first = 2 * change.translation_offset;
    std::vector<std::uint64_t> old_words;
    const std::size_t old_size = old.words.size();
    if (first < old_size) {
        const std::size_t count = std::min<std::size_t>(change.translations.size() / 8, old_size - first);
        const auto from = old.words.begin() + static_cast<std::ptrdiff_t>(first);
        old_words.assign(from, from + static_cast<std::ptrdiff_t>(count));
    }
    try {
        merge(known.context, change.mask, change.mkc);
        if (change.pd && known.context.get(mkc::pd) != static_cast<std::uint32_t>(*change.pd))
            throw Refusal{Status::bad_res, what + " cannot go to another protection domain"};
        check_modelled(known.context);
        const std::uint64_t end = first + change.translations.size() / 8;
        if (change.translation_offset <= known.context.most_words() && end > old_size)
            require_words(end - old_size);
        known.context.write_words(change.translation_offset, change.translations);
        known.key = rebuilt(known.key, known.context, layouts::get(old_mkc, mkc::free) != 0);
        words_ += known.context.words.size() - old_size;
    } catch (...) {
        known.context.mkc = old_mkc;
        known.context.words.resize(old_size);
        known.context.words.shrink_to_fit(); // only what is counted may stay
        std::ranges::copy(old_words, known.context.words.begin() +
                                         static_cast<std::ptrdiff_t>(std::min<std::uint64_t>(first, old_size)));
        throw;
    }
}

hca::Mkey MemoryKeys::rebuilt(hca::Mkey key, const KeyContext& context, bool was_free)
{
    hca::Hca& engine = context_.engine;
    if (!context.free())
        return engine.fill_mkey(key, spec_of(context));
    if (!was_free) {
        // A free key holds no user's domain.
        hca::MkeySpec nothing;
        nothing.mode = hca::KeyMode::null;
        nothing.pd = own_pd_;
        nothing.length = 1;
        key = engine.fill_mkey(key, std::move(nothing));
        engine.invalidate_mkey(key);
    }
    return hca::variant_of(key) == context.variant() ? key : engine.reissue_mkey(key, context.variant());
}

} // namespace mrz::firmware
