// SPDX-License-Identifier: BSD-3-Clause
#include "work_memory.hpp"

#include "arena_pages.hpp"
#include "eal.hpp"
#include "plain_hugepages.hpp"
#include "temporary_pool.hpp"

#include <mrzone/zone.hpp>

#include <cerrno>
#include <string>
#include <sys/mman.h>

namespace mrz::app {
namespace {

class Anonymous final : public WorkMemory {
  public:
    //! \p advice is about the size of its pages.
    Anonymous(std::size_t length, int advice) : mapped_{length + alignment}
    {
        void* const address =
            ::mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (address == MAP_FAILED)
            refuse(length, "the process's address space", "raise it: ulimit -v, or give less --memory");
        mapping_ = static_cast<std::byte*>(address);
        const auto begin = reinterpret_cast<std::uintptr_t>(mapping_);
        bytes_ = {mapping_ + (alignment - begin % alignment) % alignment, length};
        ::madvise(bytes_.data(), length, advice); // refused only by kernels that have no other pages
        if (::madvise(bytes_.data(), length, MADV_POPULATE_WRITE) != 0) {
            const int error = errno;
            ::munmap(mapping_, mapped_);
            errno = error;
            refuse(length, "memory", "free memory, or give less --memory");
        }
    }
    ~Anonymous() override { ::munmap(mapping_, mapped_); }
    [[nodiscard]] std::span<std::byte> bytes() const noexcept override { return bytes_; }

  private:
    static constexpr std::size_t alignment = 2_MiB;
    [[noreturn]] static void refuse(std::size_t length, const char* limit, const char* remedy)
    {
        throw Error{errno,
                    {.trouble = Trouble::internal,
                     .what = "taking " + format_size(length) + " of ordinary memory",
                     .limit = limit,
                     .need = length,
                     .remedy = remedy}};
    }

    std::size_t mapped_;
    std::byte* mapping_ = nullptr;
    std::span<std::byte> bytes_;
};

class Hugetlb final : public WorkMemory {
  public:
    Hugetlb(std::size_t length, std::size_t page_size)
        : pool_{page_size, {}, length / page_size}, pages_{length, page_size}
    {
    }
    [[nodiscard]] std::span<std::byte> bytes() const noexcept override { return pages_.bytes(); }

  private:
    TemporaryPool pool_;
    PlainHugepages pages_;
};

class OfArena final : public WorkMemory {
  public:
    OfArena(const std::string& name, std::size_t length, std::size_t page_size)
        : pages_{reserve_for_arena(length, page_size)},
          arena_{Arena::build(name,
                              {.size = length, .page_size = page_size, .surplus = surplus_for(length, page_size)})},
          zone_{arena_.reserve(name, length)}
    {
    }
    [[nodiscard]] std::span<std::byte> bytes() const noexcept override { return zone_.bytes(); }
    [[nodiscard]] bool lasting() const noexcept override { return true; }

  private:
    ArenaPages pages_;
    Eal eal_;
    Arena arena_;
    Zone zone_;
};

} // namespace

std::unique_ptr<WorkMemory> ordinary_memory(std::size_t length, OrdinaryPages pages)
{
    return std::make_unique<Anonymous>(length, pages == OrdinaryPages::small ? MADV_NOHUGEPAGE : MADV_HUGEPAGE);
}

std::unique_ptr<WorkMemory> hugetlb_memory(std::size_t length, std::size_t page_size)
{
    return std::make_unique<Hugetlb>(length, page_size);
}

std::unique_ptr<WorkMemory> arena_memory(const std::string& name, std::size_t length, std::size_t page_size)
{
    return std::make_unique<OfArena>(name, length, page_size);
}

} // namespace mrz::app
