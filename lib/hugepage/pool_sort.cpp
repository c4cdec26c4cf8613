// SPDX-License-Identifier: BSD-3-Clause
#include "pool_sort.hpp"

#include "page_view.hpp"
#include "preflight.hpp"

#include <algorithm>
#include <numeric>

namespace mrz::hugepage {

bool sort_pool(PageFiles held, std::optional<int> node, ProgressMeter& meter)
{
    // Others may take some at the same time: fewer than counted are still most of the pool.
    const std::uint64_t more = spare_pages(held.page_size(), node);
    if (more > 0)
        static_cast<void>(take_pages(held, more, node, meter));
    const Frames frames = frames_of(held, node);
    if (!frames.complete())
        return false;
    const std::vector<PageAt> pages = held.list(0);
    std::vector<std::size_t> order(pages.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(),
              [&](std::size_t a, std::size_t b) { return frames.addresses[a] > frames.addresses[b]; });
    for (const std::size_t page : order)
        punch(held.files()[pages[page].file].fd.get(), pages[page]);
    return true; // The holes need no second punch, but it does nothing to them.
}

} // namespace mrz::hugepage
