// SPDX-License-Identifier: BSD-3-Clause
#include "machine.hpp"

#include "subject.hpp"

#include <mrzone/host.hpp>
#include <mrzone/hugepage.hpp>
#include <mrzone/plan.hpp>

#include <common/signals.hpp>

#include <linux/memfd.h>
#include <linux/mman.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
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
        if (file_.get() < 0)
            throw std::system_error{errno, std::generic_category(), "memfd_create"};
        // What was taken stays taken, and the next call goes on from there.
        while (fallocate(file_.get(), 0, 0, static_cast<off_t>(length_)) != 0) {
            if (errno != EINTR)
                throw std::system_error{errno, std::generic_category(), "taking the pool's pages"};
            mrz::app::throw_if_interrupted();
        }
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

class GigabytePage {
  public:
    GigabytePage()
        : address_{mmap(nullptr, 1_GiB, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | MAP_HUGE_1GB, -1, 0)}
    {
        if (address_ == MAP_FAILED)
            throw std::system_error{errno, std::generic_category(), "mapping a page of 1 GiB"};
        if (madvise(address_, 1_GiB, MADV_POPULATE_WRITE) != 0) {
            const int error = errno;
            munmap(address_, 1_GiB);
            throw std::system_error{error, std::generic_category(), "touching a page of 1 GiB"};
        }
    }
    GigabytePage(const GigabytePage&) = delete;
    GigabytePage& operator=(const GigabytePage&) = delete;
    ~GigabytePage() { munmap(address_, 1_GiB); }

    [[nodiscard]] std::span<std::byte> bytes() const noexcept { return {static_cast<std::byte*>(address_), 1_GiB}; }

  private:
    mrz::app::TemporaryPool pool_{1_GiB, {}, 1};
    void* address_;
};

std::map<std::string, mrz::Domain> domains;
std::unique_ptr<Machine> machine;
std::unique_ptr<GigabytePage> gigabyte;
std::string no_gigabyte; // why there is none

void start_machine()
{
    if (machine == nullptr)
        machine = std::make_unique<Machine>();
}

} // namespace

Machine::Machine() : pool_{page_size, {}, pages_needed}
{
    arrange_pool();
}

void Machine::arrange_pool(Next next)
{
    const auto pages = mrz::read_pool(page_size).available();
    if (pages < window_pages)
        throw std::runtime_error{"something else takes pages from the pool"};
    const PageFile file{pages};
    const auto shift = mrz::PageShift::of(page_size);
    const auto frames = file.frames(shift);
    const auto placement =
        mrz::place(frames, shift, window_pages, {.max_page_shift = mrz::host::max_registration_shift()});
    const auto free_gigabyte = [&] {
        for (auto page = placement.order.rbegin(); page != placement.order.rend(); ++page)
            file.free_page(*page);
    };
    if (next == Next::others)
        free_gigabyte();
    for (const std::size_t page : placement.surplus)
        file.free_page(page);
    if (next == Next::gigabyte)
        free_gigabyte();
}

std::shared_ptr<const void> Machine::fragment_pool(unsigned percent_held)
{
    const auto pages = mrz::read_pool(page_size).available();
    auto file = std::make_shared<const PageFile>(pages);
    std::vector<std::size_t> order(pages);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::shuffle(order.begin(), order.end(), std::mt19937{42});
    order.resize(pages - pages * percent_held / 100);
    for (const std::size_t page : order)
        file->free_page(page);
    return file;
}

struct Room::Pages {
    mrz::app::TemporaryPool pool;
};

Room::~Room()
{
    try {
        // A pool that shrinks loses the pages first that are next: not those of the contiguous gigabyte.
        if (pages_ != nullptr)
            Machine::arrange_pool(Machine::Next::others);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "the pool is not in order: %s\n", error.what());
    }
}

Room::Room(std::size_t bytes)
{
    start_machine();
    const std::size_t pages = (bytes + mrz::Window::header_size) / page_size + 128;
    if (mrz::read_pool(page_size).available() >= pages)
        return;
    // A gigabyte to choose from where there is one.
    for (const std::size_t choice : {1_GiB / page_size, 0_MiB}) {
        try {
            pages_ = std::make_unique<Pages>(mrz::app::TemporaryPool{page_size, {}, pages + choice});
            return;
        } catch (const mrz::Error& error) {
            if (error.cause().trouble != mrz::Trouble::hugepages)
                throw;
            if (choice == 0)
                throw Unavailable{error.what()};
        }
    }
}

void prepare()
{
    mrz::app::throw_if_interrupted();
    start_machine();
    Machine::arrange_pool();
}

mrz::Domain domain_of(const std::string& device)
{
    const auto found = domains.find(device);
    return found != domains.end() ? found->second : domains.emplace(device, mrz::Domain::open(device)).first->second;
}

mrz::Domain soft_domain()
{
    return domain_of("soft");
}

std::vector<std::pair<std::string, std::string>> first_devices()
{
    std::vector<std::pair<std::string, std::string>> first;
    for (const mrz::Driver& driver : mrz::drivers()) {
        const std::vector<std::string> all = driver.list();
        if (!all.empty())
            first.emplace_back(driver.name, std::string{driver.name} + ':' + all.front());
    }
    return first;
}

std::span<std::byte> gigabyte_page()
{
    // First, because an EAL that starts takes a free page of 1 GiB.
    start_machine();
    if (gigabyte == nullptr && no_gigabyte.empty()) {
        try {
            gigabyte = std::make_unique<GigabytePage>();
        } catch (const mrz::Error& error) {
            if (error.cause().trouble != mrz::Trouble::hugepages)
                throw;
            no_gigabyte = error.what();
        }
    }
    if (gigabyte == nullptr)
        throw Unavailable{no_gigabyte};
    return gigabyte->bytes();
}

void release_machine() noexcept
{
    gigabyte.reset();
    machine.reset();
    domains.clear();
}

} // namespace bench
