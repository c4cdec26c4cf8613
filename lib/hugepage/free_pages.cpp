// SPDX-License-Identifier: BSD-3-Clause
#include "page_files.hpp"
#include "page_taker.hpp"
#include "page_view.hpp"
#include "preflight.hpp"

#include <mrzone/hugepage.hpp>

#include <algorithm>
#include <numeric>
#include <thread>

namespace mrz {
namespace {

using namespace hugepage;

//! Takes what is missing to \p pages. A pool that runs dry meanwhile only means fewer.
void take(PageFiles& files, std::uint64_t pages, std::optional<int> node, ProgressMeter& meter)
{
    if (pages > files.pages())
        take_pages(files, pages - files.pages(), node, meter);
}

//! The next to be taken is the last given back.
void give_back(PageFiles& files, const std::vector<DmaAddress>& frames)
{
    const std::vector<PageAt> pages = files.list(0);
    std::vector<std::size_t> order(pages.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return frames[a] > frames[b]; });
    for (const std::size_t i : order)
        punch(files.files()[pages[i].file].fd.get(), pages[i]);
    for (PageFiles::File& file : files.files())
        file.pages = 0;
}

} // namespace

FreePages look_at_free_pages(std::size_t page_size, std::optional<int> node, std::uint64_t at_most,
                             const std::function<void(const BuildProgress&)>& progress)
{
    read_pool(page_size, node);
    const std::uint64_t pages = std::min(spare_pages(page_size, node), at_most);
    if (pages == 0)
        return {};
    const std::size_t threads =
        std::min<std::uint64_t>({std::max(std::thread::hardware_concurrency(), 1U), Window::most_threads, pages});
    check_mappings(threads + 1);
    check_file_size((pages + threads - 1) / threads * page_size);
    PageFiles files{page_size, threads};
    ProgressMeter meter{progress};

    // One tells whether frames can be seen. Where they cannot, there is no reason to take more.
    take(files, 1, node, meter);
    Frames frames = frames_of(files, node);
    if (!frames.hidden) {
        take(files, pages, node, meter);
        frames = frames_of(files, node);
    }
    FreePages found{.pages = files.pages(), .frames = {}, .hidden = frames.hidden};
    if (!frames.complete())
        return found; // back they go as they came
    give_back(files, frames.addresses);
    found.frames = std::move(frames.addresses);
    std::sort(found.frames.begin(), found.frames.end());
    return found;
}

} // namespace mrz
