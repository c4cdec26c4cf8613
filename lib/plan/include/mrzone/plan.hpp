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

//! What a device allows the planner.
struct Limits {
    PageShift min_page_shift{12};
    PageShift max_page_shift{31};
    //! Longest DMA segment in bytes, a multiple of 4 KiB; a longer run is seen as broken there (2 GiB on older mlx5
    //! drivers). None: runs merge whatever their length.
    std::optional<std::size_t> max_segment = {};
    PageSizeRule rule = PageSizeRule::memory_region;
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
};

//! One piece of pinned memory under the umem rule.
struct PlannedUmem {
    std::size_t offset = 0; //!< Where in the layout it begins, in bytes.
    std::size_t length = 0; //!< Bytes.
    PageShift page_shift{12};
};

//! How a layout is registered, computed before anything is pinned.
struct MRZ_API Plan {
    std::size_t bytes = 0; //!< The layout's length.
    std::vector<PlannedKey> keys;
    std::vector<PlannedUmem> umems; //!< Empty unless the rule is PageSizeRule::umem.
    LimitedBy limit;

    //! MTT entries of all keys.
    [[nodiscard]] std::uint64_t mtt_entries() const noexcept;
    //! MTT entries and indirect entries.
    [[nodiscard]] std::uint64_t total_entries() const noexcept;
    //! Keys and entries together.
    [[nodiscard]] std::uint64_t cost() const noexcept;
    //! One line for a person: "1 key, 1 entry of 1 GiB; limited by length: one page covers it all".
    [[nodiscard]] std::string explain() const;
};

//! The plan for one key over the whole layout, with the page size that the kernel would choose.
//! \param iova where the key's space begins; none lets the planner choose the best (the first DMA address).
//! Throws Error (EINVAL) for an empty layout, limits that contradict, iova + length past 2^64, or a layout that no
//! page size of the device fits, naming the term that refuses it.
MRZ_API Plan make_plan(const Layout& layout, std::optional<Iova> iova, const Limits& limits);

//! Pages chosen out of a pool, in which order, and at which addresses.
struct Placement {
    std::vector<std::size_t> order;   //!< Indices into the frames, in virtual order.
    std::vector<std::size_t> surplus; //!< The other indices, in descending frame order: the order to free them in.
    //! The block's virtual address is to be `residue` modulo 2^modulus.
    PageShift modulus{12};
    std::uint64_t residue = 0;
    std::uint64_t entries = 0; //!< What the plan for the block will say at such an address.
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

} // namespace mrz
