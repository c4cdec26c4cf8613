// SPDX-License-Identifier: BSD-3-Clause
// What one direct key over a part of a layout comes to: the page size that the kernel would choose.
#pragma once

#include <mrzone/plan.hpp>

#include <cstddef>
#include <optional>
#include <span>

namespace mrz {

//! A part of a layout: some bytes, and the extents that they lie in.
class Part {
  public:
    explicit Part(const Layout& layout) : extents_{layout.extents()}, length_{layout.length()} {}
    //! \p length bytes from \p offset on, more than none and all of them there.
    Part(const Layout& layout, std::size_t offset, std::size_t length);

    [[nodiscard]] std::size_t offset() const noexcept { return offset_; }
    [[nodiscard]] std::size_t length() const noexcept { return length_; }
    [[nodiscard]] DmaAddress dma() const noexcept { return extent(0).dma; }
    [[nodiscard]] std::size_t size() const noexcept { return extents_.size(); }
    //! What is in the part of its i-th extent, the offset counted from the start of the part.
    [[nodiscard]] Extent extent(std::size_t i) const noexcept
    {
        Extent inside = extents_[i];
        if (inside.offset < offset_) {
            inside.dma = inside.dma + (offset_ - inside.offset);
            inside.length -= offset_ - inside.offset;
            inside.offset = offset_;
        }
        inside.offset -= offset_;
        if (inside.length > length_ - inside.offset)
            inside.length = length_ - inside.offset;
        return inside;
    }

  private:
    std::span<const Extent> extents_;
    std::size_t offset_ = 0;
    std::size_t length_ = 0;
};

//! The key with its first byte at \p iova, which must leave room for it below 2^64; `limit` is set even where it is
//! below the smallest page, which means that no key is possible. How many entries it may have is not looked at.
PlannedKey plan_one_key(const Part& part, Iova iova, const Limits& limits);
//! Whether the page size of a key from plan_one_key() is one that the device has.
inline bool is_possible(const PlannedKey& key, const Limits& limits)
{
    return key.limit.bit >= limits.min_page_shift.value();
}

//! Whether a key of that length ends by 2^64.
bool fits(Iova iova, std::size_t length);
//! The iova at which one key needs the fewest entries; none if there is no room at any.
std::optional<Iova> best_iova(const Part& part, const Limits& limits);

} // namespace mrz
