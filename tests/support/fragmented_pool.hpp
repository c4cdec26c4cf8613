// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! A pool as it is on a machine that has been up for a while, and memory of several kinds out of it. Knows no
//! GoogleTest: a program uses it as well.
#pragma once

#include "pool_guard.hpp"

#include <mrzone/hugepage.hpp>
#include <mrzone/plan.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <random>
#include <stdexcept>
#include <vector>

#include <linux/mman.h>
#include <sys/mman.h>

namespace mrz::test {

inline constexpr std::size_t fragmented_page_size = std::size_t{2} << 20;

//! Holds some of the free 2-MiB pages of the pool, chosen at random; the others it gives back in random order.
class HeldPages {
  public:
    HeldPages(unsigned percent, std::uint32_t seed)
        : pages_{fragmented_page_size, read_pool(fragmented_page_size).available()}
    {
        const std::vector<DmaAddress> frames = pages_.frames();
        std::vector<std::size_t> order(frames.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        std::shuffle(order.begin(), order.end(), std::mt19937{seed});
        order.resize(frames.size() - frames.size() * percent / 100);
        for (const std::size_t page : order)
            free_frames_.push_back(frames[page]);
        pages_.give_back(order);
    }

    //! Of the pages that are free unless somebody took some since.
    [[nodiscard]] const std::vector<DmaAddress>& free_frames() const noexcept { return free_frames_; }

  private:
    TakenPages pages_;
    std::vector<DmaAddress> free_frames_;
};

//! A pool of 2-MiB pages, as many as possible of them from whole gigabytes, for the life of an object.
class PoolOfGigabytes {
  public:
    explicit PoolOfGigabytes(std::uint64_t pages)
    {
        const Pool pool = read_pool(fragmented_page_size);
        before_ = pool.total - pool.surplus;
        add_whole_gigabytes(pages / 512);
        guard_ = std::make_unique<PoolGuard>(fragmented_page_size, pages);
    }
    PoolOfGigabytes(const PoolOfGigabytes&) = delete;
    PoolOfGigabytes& operator=(const PoolOfGigabytes&) = delete;
    ~PoolOfGigabytes()
    {
        guard_.reset();
        if (owner_ == ::getpid())
            resize_pool(fragmented_page_size, {}, before_);
    }

  private:
    std::uint64_t before_ = 0;
    std::unique_ptr<PoolGuard> guard_;
    pid_t owner_ = ::getpid();
};

//! The frames of all free pages of the pool, which it takes for the look and gives back in random order.
inline std::vector<DmaAddress> shuffled_free_pages(std::uint32_t seed)
{
    const std::uint64_t pages = read_pool(fragmented_page_size).available();
    TakenPages all{fragmented_page_size, pages};
    std::vector<DmaAddress> frames = all.frames();
    std::vector<std::size_t> order(pages);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::shuffle(order.begin(), order.end(), std::mt19937{seed});
    all.give_back(order);
    return frames;
}

//! Memory as a device sees it.
struct SeenMemory {
    std::uintptr_t address = 0;
    Layout layout;

    static SeenMemory of(const void* memory, std::size_t length)
    {
        const Frames frames = read_frames(memory, length, PageShift::of(fragmented_page_size));
        if (!frames.complete())
            throw std::runtime_error{"the frames of the memory cannot be read"};
        return {.address = reinterpret_cast<std::uintptr_t>(memory),
                .layout = Layout::of_pages(frames.addresses, PageShift::of(fragmented_page_size))};
    }
    [[nodiscard]] Plan one_key(const Limits& limits) const { return make_plan(layout, Iova{address}, limits); }
    [[nodiscard]] Plan cheapest(const Limits& limits) const
    {
        return make_optimal_plan(layout, {.iova = Iova{address}}, limits);
    }
};

//! An ordinary mapping, as its pages come.
inline SeenMemory plain_mapping(std::size_t size)
{
    void* const memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | MAP_HUGE_2MB, -1, 0);
    if (memory == MAP_FAILED)
        throw std::runtime_error{"cannot map hugepages"};
    SeenMemory seen;
    if (::madvise(memory, size, MADV_POPULATE_WRITE) == 0)
        seen = SeenMemory::of(memory, size);
    ::munmap(memory, size);
    if (seen.address == 0)
        throw std::runtime_error{"cannot populate hugepages"};
    return seen;
}

//! Devices with KLM keys, of which this kernel stands the pages.
inline Limits limits_with_klm()
{
    Limits limits = WindowOptions{}.limits;
    limits.indirect.klm = true;
    return limits;
}

} // namespace mrz::test
