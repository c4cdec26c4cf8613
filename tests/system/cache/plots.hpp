// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Memory that comes and goes at the same addresses, and says which generation of it this is.
#pragma once

#include <mrzone/region.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <optional>
#include <random>
#include <shared_mutex>
#include <span>
#include <stdexcept>

#include <linux/memfd.h>
#include <sys/mman.h>
#include <unistd.h>

namespace mrz::test {

enum class Kind { anonymous, transparent, memory_file, hugepages };

//! Addresses, and what is mapped there. Who uses it holds the lock shared; who changes it, exclusively.
class Plot {
  public:
    static constexpr std::size_t step = std::size_t{2} << 20;

    //! \param discards whether a change may be to discard pages, of which nothing is kept for a while.
    Plot(Kind kind, std::size_t number, bool discards) : kind_{kind}, number_{number}, discards_{discards}
    {
        if (kind_ == Kind::memory_file) {
            file_ = ::memfd_create("plot", MFD_CLOEXEC);
            if (file_ < 0 || ::ftruncate(file_, static_cast<off_t>(files * size())) != 0)
                throw std::runtime_error{"no memory file for the test"};
        }
        map(0, size());
        fill();
    }
    Plot(const Plot&) = delete;
    Plot& operator=(const Plot&) = delete;
    ~Plot()
    {
        ::munmap(address(), size());
        if (file_ >= 0)
            ::close(file_);
    }

    //! \name Locks for the calling thread. Who changes waits for those who are there, and not for who comes later.
    //! @{
    [[nodiscard]] std::shared_lock<std::shared_mutex> use()
    {
        const std::scoped_lock turn{turn_};
        return std::shared_lock{mutex_};
    }
    [[nodiscard]] std::unique_lock<std::shared_mutex> own()
    {
        const std::scoped_lock turn{turn_};
        return std::unique_lock{mutex_};
    }
    //! @}

    [[nodiscard]] Kind kind() const { return kind_; }
    //! A region of all of it, which look-ups may find: whoever sets or ends it owns the plot.
    std::optional<Region> resident = {};
    [[nodiscard]] std::size_t page() const { return kind_ == Kind::hugepages ? step : 4096; }
    [[nodiscard]] std::size_t pages() const
    {
        return kind_ == Kind::hugepages ? 1 : kind_ == Kind::transparent ? step / page() : 16;
    }
    [[nodiscard]] std::size_t size() const { return page() * pages(); }
    [[nodiscard]] std::span<std::byte> bytes() const { return {static_cast<std::byte*>(address()), size()}; }
    [[nodiscard]] std::span<std::byte> part(std::size_t first, std::size_t count) const
    {
        return bytes().subspan(first * page(), count * page());
    }
    //! Pages that stand for all: [first, second).
    std::array<std::size_t, 2> some_pages(std::mt19937& random) const
    {
        const std::size_t first = random() % pages();
        return {first, first + 1 + random() % (pages() - first)};
    }

    //! Where a page's marks are: at its first and in its last word.
    static constexpr std::size_t marks = 2;
    //! What the marks of a page say now.
    [[nodiscard]] std::uint64_t mark(std::size_t at) const { return generation_ << 20 | number_ << 10 | at; }
    //! Writes the marks of pages from \p first on into what stands for them.
    void write_marks(std::span<std::byte> there, std::size_t first) const
    {
        for (std::size_t i = 0; i < there.size() / page(); ++i)
            for (const std::size_t offset : {i * page(), (i + 1) * page() - sizeof(std::uint64_t)}) {
                const std::uint64_t value = mark(first + i);
                std::memcpy(&there[offset], &value, sizeof value);
            }
    }
    //! Whether what came of pages from \p first on is what is there now.
    [[nodiscard]] bool has_marks(std::span<const std::byte> there, std::size_t first) const
    {
        for (std::size_t i = 0; i < there.size() / page(); ++i)
            for (const std::size_t offset : {i * page(), (i + 1) * page() - sizeof(std::uint64_t)}) {
                std::uint64_t value = 0;
                std::memcpy(&value, &there[offset], sizeof value);
                if (value != mark(first + i))
                    return false;
            }
        return true;
    }
    //! A new generation in the memory that is there.
    void fill()
    {
        ++generation_;
        write_marks(bytes(), 0);
    }
    void next_generation() { ++generation_; }

    //! Takes memory away in some way, and brings other.
    void change(std::mt19937& random)
    {
        const auto [first, last] = some_pages(random);
        const std::span<std::byte> some = part(first, last - first);
        const std::span<std::byte> one = part(first, 1); // for what can be done to a part of one mapping only
        file_at_ = (file_at_ + 1) % files;
        switch (random() % (discards_ ? 6 : 5)) {
        case 0:
            ::munmap(address(), size());
            map(0, size());
            break;
        case 1: // a part
            ::munmap(some.data(), some.size());
            map(first * page(), some.size());
            break;
        case 2: // over it
            map(first * page(), some.size(), MAP_FIXED);
            break;
        case 3: // away, and something else in its place
            move(one, away());
            map(first * page(), page());
            ::munmap(away(), page());
            break;
        case 4: // away and back
            move(one, away());
            move({static_cast<std::byte*>(away()), page()}, one.data());
            break;
        default:
            discard(some);
            break;
        }
        fill();
    }

  private:
    std::mutex turn_;
    std::shared_mutex mutex_;

    static constexpr std::size_t files = 4; // places in the file, one of which is mapped

    //! Low, where the kernel puts nothing of its own accord, and where sanitizers have nothing of theirs.
    [[nodiscard]] void* address() const
    {
#if defined(__SANITIZE_THREAD__)
        constexpr std::uintptr_t base = 0x10'0000'0000;
#else
        constexpr std::uintptr_t base = 0x2000'0000'0000;
#endif
        return reinterpret_cast<void*>(base + 2 * number_ * step);
    }
    [[nodiscard]] void* away() const
    {
        return static_cast<std::byte*>(address()) + step;
    }

    void map(std::size_t offset, std::size_t length, int fixed = MAP_FIXED_NOREPLACE)
    {
        const int flags = kind_ == Kind::memory_file ? MAP_SHARED
                          : kind_ == Kind::hugepages ? MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB
                                                     : MAP_PRIVATE | MAP_ANONYMOUS;
        void* const at = static_cast<std::byte*>(address()) + offset;
        const auto place = static_cast<off_t>(file_ >= 0 ? file_at_ * size() + offset : 0);
        if (::mmap(at, length, PROT_READ | PROT_WRITE, flags | fixed, file_, place) != at)
            throw std::runtime_error{"cannot map a plot"};
        if (kind_ == Kind::transparent)
            ::madvise(at, length, MADV_HUGEPAGE); // where the system has them
    }
    void move(std::span<std::byte> from, void* to) const
    {
        if (::mremap(from.data(), from.size(), from.size(), MREMAP_MAYMOVE | MREMAP_FIXED, to) != to)
            throw std::runtime_error{"cannot move a plot"};
    }
    void discard(std::span<std::byte> some) const
    {
        // Of a file's only the mapping goes, and the pages stay what they are. What is done to the file itself
        // (MADV_REMOVE, too, which lets go of the mappings' lock before) is told to nobody in time.
        if (::madvise(some.data(), some.size(), MADV_DONTNEED) != 0)
            throw std::runtime_error{"cannot discard memory of a plot"};
    }

    Kind kind_;
    std::size_t number_;
    bool discards_;
    int file_ = -1;
    std::size_t file_at_ = 0;
    std::uint64_t generation_ = 0;
};

} // namespace mrz::test
