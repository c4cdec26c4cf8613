// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Page pools, frames and windows: hugepages taken from the kernel, arranged, and given back. Knows no DPDK.
//!
//! Functions, and Window::build() and Window::attach(), may be called from several threads at once.
#pragma once

#include <mrzone/base.hpp>
#include <mrzone/file_descriptor.hpp>
#include <mrzone/frames.hpp>
#include <mrzone/host.hpp>
#include <mrzone/plan.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace mrz {

// ---- Page pools --------------------------------------------------------------------------------------------------

//! The kernel's hugepages of one size, on one NUMA node or on the whole machine. Counts are pages.
struct Pool {
    std::size_t page_size = 0;    //!< Bytes.
    std::optional<int> node = {}; //!< None: the whole machine.
    std::uint64_t total = 0;      //!< In the pool, surplus included.
    std::uint64_t free = 0;       //!< Not in use. Some may be reserved.
    std::uint64_t surplus = 0;    //!< In use beyond the size that was set; they vanish when freed.
    //! Promised to mappings that have not touched them. The kernel counts this for the whole machine only.
    std::uint64_t reserved = 0;
    //! How far surplus may grow (nr_overcommit_hugepages); whole machine only.
    std::uint64_t overcommit = 0;

    //! Pages that can be taken now without overcommit.
    [[nodiscard]] std::uint64_t available() const noexcept { return free > reserved ? free - reserved : 0; }
};

//! The hugepage sizes of this kernel in bytes, ascending; empty if it has none.
MRZ_API std::vector<std::size_t> hugepage_sizes(const host::Root& root = {});
//! Reads one pool. Throws Error: hugepages (EINVAL, naming the sizes there are) if the kernel lacks the size;
//! hugepages (ENOENT) if the node does not exist.
MRZ_API Pool read_pool(std::size_t page_size, std::optional<int> node = {}, const host::Root& root = {});

//! Reads the pools of each of these sizes: the whole machine's, then each node's. Throws Error as read_pool().
MRZ_API std::vector<Pool> read_pools(std::span<const std::size_t> page_sizes, const host::Root& root = {});

//! What became of a request to change a pool.
struct PoolChange {
    Pool before;
    std::uint64_t asked = 0; //!< Pages.
    Pool after;

    //! The kernel gave fewer, or could not take back pages in use.
    [[nodiscard]] bool met() const noexcept { return after.total - after.surplus == asked; }
};
//! Asks the kernel for a pool of exactly \p pages and reads back what it did; a shortfall is not an error here.
//! Lasts until changed again or reboot. Throws Error as read_pool() does, and permission (EACCES, EPERM, EROFS).
MRZ_API PoolChange resize_pool(std::size_t page_size, std::optional<int> node, std::uint64_t pages,
                               const host::Root& root = {});
//! Adds whole, naturally aligned gigabytes to the pool of 2-MiB pages, by splitting pages of 1 GiB that it asks the
//! kernel for first; the pool of 1-GiB pages is as it was afterwards. Pages that are asked for one by one need not
//! contain a single gigabyte in one piece, even on an idle machine.
//! \return how many were added: fewer where memory is fragmented, none before Linux 5.16. Lasts as resize_pool().
//! Throws Error as resize_pool().
MRZ_API std::uint64_t add_whole_gigabytes(std::uint64_t gigabytes, std::optional<int> node = {},
                                          const host::Root& root = {});
//! The cause of a pool that is too small by now: \p need pages where \p pool has fewer.
MRZ_API Cause pool_too_small(const Pool& pool, std::uint64_t need);

//! How far taking pages has come, in bytes.
struct BuildProgress {
    std::size_t taken = 0;  //!< Zeroed so far.
    std::size_t wanted = 0; //!< May grow when more pages are looked at.
};

//! Where the free pages of a pool lie.
struct FreePages {
    std::uint64_t pages = 0;        //!< How many were looked at.
    std::vector<DmaAddress> frames; //!< Ascending; empty if hidden.
    bool hidden = false;            //!< This process may not see frames (CAP_SYS_ADMIN): then few were looked at.
};
//! Takes the free pages of a pool that are not reserved, as far as the process's limits allow, but no more than
//! \p at_most; looks where they lie; and gives them back so that the next to be taken have the lowest frames. For
//! that time others cannot have them, and zeroing them takes about 0.1 s a GiB. If \p progress throws, the pages are
//! given back and the exception goes on. Throws Error as read_pool() and Window::build().
MRZ_API FreePages look_at_free_pages(std::size_t page_size, std::optional<int> node = {},
                                     std::uint64_t at_most = ~std::uint64_t{0},
                                     const std::function<void(const BuildProgress&)>& progress = {});

// ---- Windows -----------------------------------------------------------------------------------------------------
//! How many pages beyond its need a build may take, for the time of the build, to choose from. They are looked at
//! only while the placement is not yet the cheapest thinkable, a few first, then twice as many each time; what is not
//! used goes back in the order that leaves the pool sorted. Each look zeroes its pages, which is what costs.
class Surplus {
  public:
    //! A little memory has little choice among as much again, and zeroing this much takes well under a tenth of a
    //! second: a percentage above 0 is at least this.
    static constexpr std::size_t least_bytes = std::size_t{512} << 20;
    //! What pool() leaves to others who ask meanwhile.
    static constexpr std::size_t usual_reserve = std::size_t{64} << 20;

    //! None: others are never left without, and the pages lie as they come.
    static constexpr Surplus exact() noexcept { return percent(0); }
    //! So many percent of what is needed.
    static constexpr Surplus percent(unsigned percent) noexcept { return {false, percent, 0}; }
    //! All that nobody else has a claim on, but for \p reserve bytes (rounded up to pages) of it. No choice among the
    //! rest of the pool is better then.
    static constexpr Surplus pool(std::size_t reserve = usual_reserve) noexcept { return {true, 0, reserve}; }

    //! How many more pages may be taken in all by a build that needs \p needed, of which \p spare could be had.
    [[nodiscard]] std::uint64_t pages(std::uint64_t needed, std::uint64_t spare,
                                      std::size_t page_size) const noexcept;

    friend bool operator==(const Surplus&, const Surplus&) = default;

  private:
    constexpr Surplus(bool all, unsigned percent, std::size_t reserve) noexcept
        : all_{all}, percent_{percent}, reserve_{reserve}
    {
    }
    bool all_;
    unsigned percent_;
    std::size_t reserve_;
};

struct WindowOptions {
    std::size_t size = 0; //!< Bytes of the block; a multiple of page_size.
    std::size_t page_size = std::size_t{2} << 20;
    //! None: wherever the calling thread's memory policy says. Else every page is verified to be of that node.
    std::optional<int> node = {};
    //! Threads that take (and so zero) pages, 1 to Window::most_threads; 0: one for each whole GiB, at most the
    //! processors there are.
    unsigned threads = 0;
    Surplus surplus = Surplus::percent(100);
    //! The device that the pages are chosen for, and what a plan for it may use: see place(). Without indirect keys
    //! the fewest entries of one key are the aim.
    Limits limits = {.max_page_shift = host::max_registration_shift()};
    PlanOptions plan = {}; //!< Its iova is not looked at: it is the virtual address.
    //! Called from the building thread about ten times a second. If it throws, the build is undone and the exception
    //! goes on to the caller.
    std::function<void(const BuildProgress&)> progress = {};
};

//! Where the parts of a window are: enough for another process to map it at the same address.
struct WindowMap {
    struct Piece {
        std::size_t offset = 0; //!< From the window's start, in bytes.
        std::size_t length = 0; //!< Bytes.
        std::size_t file = 0;   //!< Index of its file.
        std::size_t file_offset = 0;
    };
    std::uintptr_t address = 0;
    std::size_t length = 0;        //!< Header and block, bytes.
    std::size_t header_length = 0; //!< Bytes before the block.
    std::size_t page_size = 0;     //!< Of the block.
    std::optional<int> node = {};
    std::vector<Piece> pieces = {}; //!< In virtual order, without holes.
};

//! Time spent in each phase of a build.
struct BuildPhases {
    std::chrono::nanoseconds take{}, frames{}, place{}, map{}, give_back{};
};

//! Virtual addresses filled with hugepages that were chosen, ordered and placed congruently: one header page for the
//! use of a heap, then one block.
//!
//! Its pages are shared memory files without a name, so they are gone with the last process that has them, however
//! it ends. A window may be read from several threads; it is built and destroyed by one.
class MRZ_API Window {
  public:
    //! A header page is 2 MiB whatever the block's page size.
    static constexpr std::size_t header_size = std::size_t{2} << 20;
    //! Each thread fills a file of its own. With the header's file, a table and a pipe, these are the descriptors
    //! that one message of the EAL carries to a secondary process (RTE_MP_MAX_FD_NUM, 8).
    static constexpr unsigned most_threads = 5;

    //! Takes, arranges and maps the pages. On any failure all is given back.
    //! Where single pages would need more mappings than vm.max_map_count allows, the pool is sorted first, which is
    //! said (it takes all of the pool for a moment): pages then come in ascending order, and one mapping holds many.
    //! Throws Error: invalid (EINVAL: size or page size; ENOMEM: vm.max_map_count or the address space would not hold
    //! it; EFBIG, EMFILE, ENFILE: limits on files), hugepages (also, with ENOMEM, if the kernel gave pages of another
    //! node than asked for), cgroup, permission, or unsupported (before Linux 5.14); each before or after touching
    //! pages, never by a signal.
    static Window build(const WindowOptions& options);
    //! Whether build() would find pool and control groups as it needs them now: throws what it would. Takes nothing.
    static void preflight(const WindowOptions& options);
    //! Maps a window of another process; \p files are those that its map names, in the same order. Throws Error: busy
    //! (EEXIST) if its addresses are taken here; invalid (EINVAL) if map and files contradict each other, or as
    //! build() where the mapping limit is met.
    static Window attach(const WindowMap& map, std::vector<FileDescriptor> files);

    Window(Window&&) noexcept;
    Window& operator=(Window&&) noexcept;
    //! Unmaps, and gives the pages back in the order that keeps the pool sorted: other processes that attached the
    //! window must have detached before. An attached window, or one inherited by fork, is only unmapped.
    ~Window();

    [[nodiscard]] std::byte* address() const noexcept; //!< Where the header begins.
    [[nodiscard]] std::size_t length() const noexcept; //!< Header and block, bytes.
    [[nodiscard]] std::span<std::byte> block() const noexcept;
    [[nodiscard]] const WindowMap& map() const noexcept;
    [[nodiscard]] std::span<const FileDescriptor> files() const noexcept;

    //! Whether the frames could be read. Where they could not, the pages lie as they came.
    [[nodiscard]] bool frames_known() const noexcept;
    //! The block's layout; where frames are unknown, the worst that its pages allow.
    [[nodiscard]] const Layout& layout() const noexcept;
    //! One DMA address for each 2 MiB of header and block; empty if unknown.
    [[nodiscard]] std::span<const DmaAddress> frames() const noexcept;
    //! The cheapest plan for one key over the block, with iova = virtual address: an indirect key over several where
    //! \p limits have such and that costs less. Where frames are unknown it is what can be promised, not what a
    //! device may find.
    [[nodiscard]] Plan plan(const Limits& limits) const;
    //! The cheapest plan for the block, with iova = virtual address; as above where frames are unknown.
    [[nodiscard]] Plan plan(const Limits& limits, PlanOptions options) const;
    [[nodiscard]] const BuildPhases& phases() const noexcept;

    //! Reads the frames again. For an owner that had the pages pinned after the build: until then the kernel may have
    //! moved one, from then on frames() and layout() are what a device uses.
    void look_again();
    //! From here on the destructor leaves the memory mapped and the files open until the process ends. For an owner
    //! that must not pull memory away from under its users.
    void abandon() noexcept;

  private:
    struct MRZ_HIDDEN State;
    MRZ_HIDDEN explicit Window(std::unique_ptr<State> state) noexcept;
    std::unique_ptr<State> state_;
};

} // namespace mrz
