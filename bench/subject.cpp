// SPDX-License-Identifier: BSD-3-Clause
#include "subject.hpp"

#include "machine.hpp"

#include <mrzone/host.hpp>
#include <mrzone/hugepage.hpp>
#include <mrzone/plan.hpp>

#include <cinttypes>
#include <cstdio>
#include <fstream>
#include <string>

namespace bench {

namespace {

//! How many memory mappings of this process lie in [begin, end).
double mappings_in(std::uintptr_t begin, std::uintptr_t end)
{
    std::ifstream maps{"/proc/self/maps"};
    unsigned found = 0;
    for (std::string line; std::getline(maps, line);) {
        std::uintptr_t from = 0;
        std::uintptr_t to = 0;
        if (std::sscanf(line.c_str(), "%" SCNxPTR "-%" SCNxPTR, &from, &to) == 2 && from < end && to > begin)
            ++found;
    }
    return found;
}

} // namespace

void must_succeed(mrz::WcStatus status)
{
    if (status != mrz::WcStatus::success)
        throw std::runtime_error{"an operation failed: " + std::string{mrz::to_string(status)}};
}

void count(benchmark::State& state, const void* address, std::size_t length)
{
    // Memory that begins within a page needs the whole of it, as its registration does.
    const auto begin = reinterpret_cast<std::uintptr_t>(address) / page_size * page_size;
    const auto end = (reinterpret_cast<std::uintptr_t>(address) + length + page_size - 1) / page_size * page_size;
    const auto page = mrz::PageShift::of(page_size);
    const auto frames = mrz::read_frames(reinterpret_cast<const void*>(begin), end - begin, page);
    if (!frames.complete())
        throw std::runtime_error{"the frames of the memory that was taken cannot be read"};
    const auto layout = mrz::Layout::of_pages(frames.addresses, page);
    const auto plan =
        mrz::make_plan(layout, mrz::Iova{begin}, mrz::Limits{.max_page_shift = mrz::host::max_registration_shift()});
    state.counters["entries"] = static_cast<double>(plan.mtt_entries());
    state.counters["extents"] = static_cast<double>(layout.extents().size());
    state.counters["mappings"] = mappings_in(begin, end);
}

} // namespace bench
