// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Arithmetic on translation entries: which pages to take, and what registering them costs.
//!
//! No call here touches memory, a device or the system; equal arguments give equal results. Everything is
//! thread-safe in that sense, and nothing keeps a reference to its arguments.
#pragma once

#include <mrzone/base.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mrz {

//! A run of memory that is contiguous in DMA address.
struct Extent {
    std::size_t offset = 0; //!< From the start of its layout, in bytes.
    DmaAddress dma;
    std::size_t length = 0; //!< Bytes.

    friend bool operator==(const Extent&, const Extent&) = default;
};

//! The extents of a virtual range, in virtual order, without holes. Adjacent extents are kept as one.
class MRZ_API Layout {
  public:
    Layout() = default;
    //! The layout of pages of one size, in virtual order. Throws Error as append().
    static Layout of_pages(std::span<const DmaAddress> frames, PageShift page);
    //! The least that \p count pages of \p page promise when their frames are unknown: no two are contiguous.
    //! Throws Error (EINVAL) if they are more than 2^63 bytes.
    static Layout worst_case(PageShift page, std::size_t count);

    //! Appends \p length bytes at \p dma, merged with the last extent where they are contiguous.
    //! Throws Error (EINVAL) if length is zero, dma + length passes 2^64, or the sum of lengths reaches it.
    void append(DmaAddress dma, std::size_t length);

    //! The layout of \p length bytes from \p offset on. Throws Error (EINVAL) for what is not within it.
    [[nodiscard]] Layout part(std::size_t offset, std::size_t length) const;

    [[nodiscard]] std::span<const Extent> extents() const noexcept { return extents_; }
    //! Bytes in all.
    [[nodiscard]] std::size_t length() const noexcept;

  private:
    std::vector<Extent> extents_;
};

//! How a device chooses one page size for a key.
enum class PageSizeRule {
    memory_region, //!< ibv_reg_mr: the kernel's ib_umem_find_best_pgsz.
    umem,          //!< mlx5 direct verbs: devx_umem_find_best_pgsize, which also wants base and length aligned.
};

//! What a device knows of indirect keys: keys whose entries lead to other keys.
struct IndirectLimits {
    bool klm = false;                                 //!< Entries of any length.
    bool ksm = false;                                 //!< Entries of one power of two, at multiples of it.
    std::optional<std::uint64_t> max_entries = {};    //!< Of one indirect key, at least 1; none: any number.
    std::size_t max_klm_bytes = std::size_t{1} << 31; //!< Of one KLM entry, a positive multiple of 4 KiB.
    PageShift min_ksm_shift{12};                      //!< The smallest KSM entry.
    PageShift max_ksm_shift{31};                      //!< The largest.
};

//! What a device allows the planner.
struct Limits {
    PageShift min_page_shift{12};
    PageShift max_page_shift{31};
    //! Longest DMA segment in bytes, a multiple of 4 KiB; a longer run is seen as broken there (2 GiB on older mlx5
    //! drivers). None: runs merge whatever their length.
    std::optional<std::size_t> max_segment = {};
    PageSizeRule rule = PageSizeRule::memory_region;
    //! Most MTT entries of one direct key, at least 1; none: any number.
    std::optional<std::uint64_t> max_mtt_entries = {};
    IndirectLimits indirect = {};
};

//! What kept a key's pages from being larger.
enum class LimitTerm {
    congruence, //!< iova and DMA address differ in this bit.
    breaks,     //!< An extent begins at an iova that has this bit set.
    length,     //!< One page of this size covers everything (or, for a umem, the length is no multiple of more).
    device,     //!< The device has no larger page.
    segment,    //!< A run longer than the longest segment was split at an iova that has this bit set.
};
//! "congruence", "break", "length", "device", "segment".
MRZ_API std::string_view to_string(LimitTerm term);

//! The term that decided a plan's page size.
struct LimitedBy {
    LimitTerm term = LimitTerm::device;
    unsigned bit = 0; //!< Pages can be no larger than 2^bit.
    Iova at;          //!< The iova where the extent that limits begins.
};

//! One direct key, and what it needs.
struct PlannedKey {
    Iova iova;
    std::size_t offset = 0; //!< Where in the layout it begins, in bytes.
    std::size_t length = 0; //!< Bytes.
    PageShift page_shift{12};
    std::uint64_t entries = 0; //!< MTT entries.
    LimitedBy limit = {};      //!< What kept its pages from being larger.
};

//! One piece of pinned memory under the umem rule.
struct PlannedUmem {
    std::size_t offset = 0; //!< Where in the layout it begins, in bytes.
    std::size_t length = 0; //!< Bytes.
    PageShift page_shift{12};
};

//! What one unit of each costs, in any unit: whole numbers, zero allowed. The defaults count 8 bytes of the device's
//! tables (an MTT entry 8, a key's context 64, a KLM or KSM entry 16); doc/architecture.md says why.
struct Weights {
    std::uint64_t mtt = 1;      //!< An MTT entry.
    std::uint64_t mkey = 8;     //!< A key; an indirect one counts, too.
    std::uint64_t indirect = 2; //!< An entry of an indirect key.

    friend bool operator==(const Weights&, const Weights&) = default;
};

//! How the entries of an indirect key, which lead to parts of direct ones, cut its memory.
enum class IndirectKind {
    klm, //!< Of any length.
    ksm, //!< At multiples of one power of two of its iova: all but the first and the last are of that length.
};
//! "klm", "ksm".
MRZ_API std::string_view to_string(IndirectKind kind);

//! One entry of an indirect key: memory that it reaches through one direct key.
struct IndirectEntry {
    std::size_t key = 0;    //!< Index into Plan::keys.
    std::size_t offset = 0; //!< Where in the layout it begins, in bytes.
    std::size_t length = 0; //!< Bytes.
};

//! One key over all the direct keys of a plan. A direct key that is longer than one entry may be has several.
struct PlannedIndirect {
    IndirectKind kind = IndirectKind::klm;
    Iova iova;                                 //!< Of the layout's first byte.
    std::optional<PageShift> entry_shift = {}; //!< The length of a KSM entry; none for KLM.
    std::vector<IndirectEntry> entries;        //!< Consecutive, over the whole layout.
};

//! One direct key over everything at an iova where it needs fewer entries.
struct BetterIova {
    Iova iova;
    std::uint64_t entries = 0;
};

//! How a layout is registered, computed before anything is pinned.
struct MRZ_API Plan {
    std::size_t bytes = 0;                        //!< The layout's length.
    std::vector<PlannedKey> keys;                 //!< Direct keys over consecutive parts of the layout.
    std::vector<PlannedUmem> umems;               //!< One a direct key; empty unless the rule is PageSizeRule::umem.
    LimitedBy limit;                              //!< Of the direct key with the most entries, the first such.
    std::optional<PlannedIndirect> indirect = {}; //!< The key over the others; none if they are given out themselves.
    Weights weights = {.mtt = 1, .mkey = 1, .indirect = 1};
    std::optional<BetterIova> better = {}; //!< What one key would need at another iova, where that is fewer.
    //! Whether no other choice of keys costs less. False only if a limit binds in a layout that has more places to
    //! cut than make_optimal_plan() tries.
    bool proven = true;

    //! MTT entries of all keys.
    [[nodiscard]] std::uint64_t mtt_entries() const noexcept;
    [[nodiscard]] std::uint64_t indirect_entries() const noexcept;
    //! MTT entries and indirect entries.
    [[nodiscard]] std::uint64_t total_entries() const noexcept;
    //! MTT entries, keys (an indirect one, too) and indirect entries, times their weights.
    [[nodiscard]] std::uint64_t cost() const noexcept;
    //! Where an entry of the indirect key leads to in the space of its direct key. A KSM entry begins at a multiple
    //! of its length: the first one perhaps before the memory, out of the bounds of both keys.
    [[nodiscard]] Iova leads_to(const IndirectEntry& entry) const;
    //! One line for a person, with what limits it, where, and what would remove that:
    //! "1 key, 1 entry of 1 GiB; limited by length: one page covers it all".
    [[nodiscard]] std::string explain() const;
};

//! The plan for one key over the whole layout, with the page size that the kernel would choose.
//! Its weights are 1 each.
//! \param iova where the key's space begins; none lets the planner choose the best (the first DMA address).
//! Throws Error (EINVAL) for an empty layout, limits that contradict, iova + length past 2^64, a layout that no page
//! size of the device fits, naming the term that refuses it, or more MTT entries than a key may have.
MRZ_API Plan make_plan(const Layout& layout, std::optional<Iova> iova, const Limits& limits);

//! What make_optimal_plan() may choose.
struct PlanOptions {
    //! Where the layout's first byte is in the space of the key, or of the keys, that are given out. Of keys side by
    //! side each begins at this iova plus its offset. None lets the planner choose.
    std::optional<Iova> iova = {};
    bool single_key = true; //!< Whether one key must cover everything; else several may, side by side.
    bool indirect = true;   //!< Whether indirect keys may be used where the device has them.
    Weights weights = {};
};

//! The cheapest way to register a layout: one direct key, several side by side, or one KLM or KSM key over direct
//! keys, whose own iovas are then free. Direct keys cover consecutive parts, cut at multiples of 4 KiB of the DMA
//! address. Of equal costs one direct key goes before several, these before KSM, and KSM before KLM.
//! Takes time about linear in the number of extents while the limits on entries, on the length of a segment or of a
//! KLM entry do not bind; where they do, in the number of pages (of the size of which all extents are multiples).
//! Throws Error (EINVAL) as make_plan() if there is no plan at all; and for weights with which a cost could pass
//! 2^62.
MRZ_API Plan make_optimal_plan(const Layout& layout, const PlanOptions& options, const Limits& limits);

//! Pages chosen out of a pool, in which order, and at which addresses.
struct Placement {
    std::vector<std::size_t> order;   //!< Indices into the frames, in virtual order.
    std::vector<std::size_t> surplus; //!< The other indices, in descending frame order: the order to free them in.
    //! The block's virtual address is to be `residue` modulo 2^modulus.
    PageShift modulus{12};
    std::uint64_t residue = 0;
    std::uint64_t entries = 0; //!< MTT entries that the plan for the block will have at such an address.
    std::uint64_t cost = 0;    //!< And what it will cost.
};

//! Chooses \p count of \p frames, each a page of \p page and all different, so that one key over them needs the
//! fewest entries, and the virtual address that makes it so.
//!
//! With limits.max_page_shift below 31 the address differs from the DMA address in the bit of that shift where it
//! matters, so that no driver is led to a page larger than its kernel stands.
//! With limits.max_segment, `entries` is still exact, but where long runs are split another choice may need fewer.
//! Under PageSizeRule::umem the block also begins and ends at its page size, as that rule asks.
//! Throws Error (EINVAL) if count is zero or more than there are, a frame is not page aligned, or one is there twice;
//! and as make_plan() does where the limits contradict or leave no page size.
MRZ_API Placement place(std::span<const DmaAddress> frames, PageShift page, std::size_t count, const Limits& limits);

//! As above, so that make_optimal_plan() with these options (their iova is not looked at: it is the virtual address)
//! costs least. Where one direct key is all that is allowed, nothing costs less. So it does with KLM keys where there
//! are at most ten pages to choose from. Among more, direct keys under an indirect one are a key for the blocks of
//! each of some sizes and one each for some runs, whichever are cheapest: seldom a key more than the least thinkable.
//! Takes time about linear in the number of frames.
MRZ_API Placement place(std::span<const DmaAddress> frames, PageShift page, std::size_t count,
                        const PlanOptions& options, const Limits& limits);

} // namespace mrz
