// SPDX-License-Identifier: BSD-3-Clause
// Small layouts in which interesting things are frequent: runs that go on, congruent places, ends within a page.
#pragma once

#include <mrzone/plan.hpp>

#include <cstdint>
#include <random>

namespace mrz::test {

constexpr std::uint64_t kib = 1024;
constexpr std::uint64_t small_page = 4 * kib;

class Dice {
  public:
    explicit Dice(std::uint32_t seed) : engine_{seed} {}
    //! A number from \p low to \p high, both included.
    std::uint64_t roll(std::uint64_t low, std::uint64_t high)
    {
        return std::uniform_int_distribution<std::uint64_t>{low, high}(engine_);
    }
    bool one_in(std::uint64_t n) { return roll(1, n) == 1; }

  private:
    std::mt19937 engine_;
};

enum class Ends { whole_pages, within_pages };

//! One to five runs of one to twelve small pages. With Ends::within_pages the memory often begins or ends between two
//! pages, at a multiple of 1 KiB.
inline Layout random_layout(Dice& dice, Ends ends)
{
    Layout layout;
    const std::uint64_t runs = dice.roll(1, 5);
    for (std::uint64_t run = 0; run < runs; ++run) {
        std::uint64_t dma = dice.roll(0, 40) * small_page;
        if (dice.one_in(3))
            dma = dice.roll(0, 5) * 8 * small_page + layout.length() / small_page * small_page;
        std::uint64_t length = dice.roll(1, dice.one_in(3) ? 12 : 4) * small_page;
        if (ends == Ends::within_pages && run == 0 && dice.one_in(3)) {
            const std::uint64_t inside = dice.roll(1, 3) * kib;
            dma += inside;
            length -= inside;
        }
        if (ends == Ends::within_pages && run + 1 == runs && dice.one_in(3))
            length -= length > 3 * kib ? dice.roll(1, 3) * kib : 0;
        layout.append(DmaAddress{dma}, length);
    }
    return layout;
}

//! An iova that often agrees with the first DMA address up to some bit, and sometimes not even within a page.
inline Iova random_iova(Dice& dice, const Layout& layout)
{
    const std::uint64_t dma = layout.extents().front().dma.value();
    if (dice.one_in(20))
        return Iova{dice.roll(0, 1000) * kib};
    if (dice.one_in(3))
        return Iova{dma % small_page + dice.roll(0, 64) * small_page};
    return Iova{dma + (dice.roll(0, 5) << dice.roll(12, 18))};
}

} // namespace mrz::test
