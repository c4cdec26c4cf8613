// SPDX-License-Identifier: BSD-3-Clause
#include "machine.hpp"

#include "subject.hpp"

#include <mrzone/host.hpp>
#include <mrzone/hugepage.hpp>
#include <mrzone/plan.hpp>

#include <common/signals.hpp>

#include <linux/memfd.h>
#include <sys/mman.h>

#include <cerrno>
#include <fcntl.h>
#include <memory>
#include <stdexcept>
#include <system_error>
#include <utility>
#include <vector>

namespace bench {

namespace {

//! A window may look at twice its pages and its header, the EAL takes some for itself.
constexpr std::size_t window_pages = (mrz::Window::header_size + size) / page_size;
constexpr std::size_t pages_needed = 2 * window_pages + 128;

//! A number of hugepages, each of which can be freed on its own.
class PageFile {
  public:
    explicit PageFile(std::size_t pages)
        : file_{memfd_create("mrz-bench", MFD_CLOEXEC | MFD_HUGETLB | MFD_HUGE_2MB)}, length_{pages * page_size}
    {
        if (file_.get() < 0 || fallocate(file_.get(), 0, 0, static_cast<off_t>(length_)) != 0)
            throw std::system_error{errno, std::generic_category(), "taking the pool's pages"};
    }

    [[nodiscard]] std::vector<mrz::DmaAddress> frames(mrz::PageShift shift) const
    {
        void* address = mmap(nullptr, length_, PROT_READ, MAP_SHARED | MAP_POPULATE, file_.get(), 0);
        if (address == MAP_FAILED)
            throw std::system_error{errno, std::generic_category(), "mapping the pool's pages"};
        auto frames = mrz::read_frames(address, length_, shift);
        munmap(address, length_);
        if (!frames.complete())
            throw std::runtime_error{"the frames of the pool's pages cannot be read"};
        return std::move(frames.addresses);
    }

    void free_page(std::size_t page) const
    {
        if (fallocate(file_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(page * page_size),
                      page_size) != 0)
            throw std::system_error{errno, std::generic_category(), "freeing the pool's pages"};
    }

  private:
    mrz::FileDescriptor file_;
    std::size_t length_;
};

std::unique_ptr<Machine> machine;

} // namespace

Machine::Machine() : pool_{page_size, {}, pages_needed}
{
    arrange_pool();
}

void Machine::arrange_pool()
{
    const auto pages = mrz::read_pool(page_size).available();
    if (pages < window_pages)
        throw std::runtime_error{"something else takes pages from the pool"};
    const PageFile file{pages};
    const auto shift = mrz::PageShift::of(page_size);
    const auto frames = file.frames(shift);
    const auto placement =
        mrz::place(frames, shift, window_pages, {.max_page_shift = mrz::host::max_registration_shift()});
    for (const std::size_t page : placement.surplus)
        file.free_page(page);
    for (auto page = placement.order.rbegin(); page != placement.order.rend(); ++page)
        file.free_page(*page);
}

void prepare()
{
    mrz::app::throw_if_interrupted();
    if (machine == nullptr)
        machine = std::make_unique<Machine>();
    Machine::arrange_pool();
}

void release_machine() noexcept
{
    machine.reset();
}

} // namespace bench
