// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! A page pool of a certain size for the life of an object, and ways to make it awkward.
#pragma once

#include <mrzone/hugepage.hpp>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <fstream>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include <fcntl.h>
#include <linux/memfd.h>
#include <sys/mman.h>
#include <unistd.h>

namespace mrz::test {

//! Makes \p pages pages free in a pool, and puts the pool back to the size that it had. Throws if the kernel gives
//! fewer.
class PoolGuard {
  public:
    PoolGuard(std::size_t page_size, std::uint64_t pages, std::optional<int> node = {})
        : page_size_{page_size}, node_{node}
    {
        const Pool pool = read_pool(page_size, node);
        before_ = pool.total - pool.surplus;
        const PoolChange change = resize_pool(page_size, node, pool.total - pool.free + pages);
        if (!change.met()) {
            resize_pool(page_size, node, before_);
            throw std::runtime_error{"the kernel gives only " + std::to_string(change.after.free) + " of " +
                                     std::to_string(pages) + " hugepages of " + format_size(page_size)};
        }
    }
    PoolGuard(const PoolGuard&) = delete;
    PoolGuard& operator=(const PoolGuard&) = delete;
    ~PoolGuard()
    {
        if (owner_ == ::getpid())
            resize_pool(page_size_, node_, before_);
    }

    [[nodiscard]] std::uint64_t free() const { return read_pool(page_size_, node_).free; }

  private:
    std::size_t page_size_;
    std::optional<int> node_;
    std::uint64_t before_ = 0;
    pid_t owner_ = ::getpid(); // a child that ends as it should not must leave the pool alone
};

//! Pages that somebody else took.
class TakenPages {
  public:
    TakenPages(std::size_t page_size, std::uint64_t pages) : page_size_{page_size}, pages_{pages}
    {
        fd_ = FileDescriptor{
            ::memfd_create("taken", MFD_CLOEXEC | MFD_HUGETLB |
                                        (static_cast<unsigned>(std::countr_zero(page_size)) << MFD_HUGE_SHIFT))};
        if (fd_.get() < 0 || ::fallocate(fd_.get(), 0, 0, static_cast<off_t>(page_size * pages)) != 0)
            throw std::runtime_error{"cannot take pages for the test"};
    }

    //! Where they lie, in the order of the file.
    [[nodiscard]] std::vector<DmaAddress> frames() const
    {
        const std::size_t length = page_size_ * pages_;
        void* address = ::mmap(nullptr, length, PROT_READ, MAP_SHARED, fd_.get(), 0);
        if (address == MAP_FAILED || ::madvise(address, length, MADV_POPULATE_READ) != 0)
            throw std::runtime_error{"cannot map pages for the test"};
        Frames frames = read_frames(address, length, PageShift::of(page_size_));
        ::munmap(address, length);
        return std::move(frames.addresses);
    }
    //! Gives them back one by one in this order of indices. The next to be taken is the last given back.
    void give_back(const std::vector<std::size_t>& order)
    {
        for (const std::size_t page : order)
            if (::fallocate(fd_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                            static_cast<off_t>(page * page_size_), static_cast<off_t>(page_size_)) != 0)
                throw std::runtime_error{"cannot give pages back"};
    }

  private:
    FileDescriptor fd_;
    std::size_t page_size_;
    std::uint64_t pages_;
};

//! Adds a whole gigabyte to the pool of 2-MiB pages, for a PoolGuard to take away; has the kernel move memory about
//! if it finds none at once.
inline bool add_a_whole_gigabyte()
{
    if (add_whole_gigabytes(1) == 1)
        return true;
    std::ofstream{"/proc/sys/vm/compact_memory"} << 1 << std::flush;
    return add_whole_gigabytes(1) == 1;
}

//! Mixes up the order in which the kernel gives the free pages of a pool.
inline void scramble_pool(std::size_t page_size)
{
    const std::uint64_t pages = read_pool(page_size).available();
    TakenPages all{page_size, pages};
    std::vector<std::size_t> order(pages);
    for (std::size_t i = 0; i < order.size(); ++i)
        order[i] = i;
    std::shuffle(order.begin(), order.end(), std::mt19937{1});
    all.give_back(order);
}

} // namespace mrz::test
