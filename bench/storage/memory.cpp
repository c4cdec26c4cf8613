// SPDX-License-Identifier: BSD-3-Clause
#include "memory.hpp"

#include <common/arena_pages.hpp>
#include <common/eal.hpp>

#include <mrzone/zone.hpp>

#include <sys/mman.h>

#include <cerrno>
#include <fstream>
#include <limits>
#include <string>

namespace bench::storage {

namespace {

using namespace mrz::literals;

class Anonymous final : public Memory {
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
        throw mrz::Error{errno,
                         {.trouble = mrz::Trouble::internal,
                          .what = "taking " + mrz::format_size(length) + " of ordinary memory",
                          .limit = limit,
                          .need = length,
                          .remedy = remedy}};
    }

    std::size_t mapped_;
    std::byte* mapping_ = nullptr;
    std::span<std::byte> bytes_;
};

class OfArena final : public Memory {
  public:
    explicit OfArena(std::size_t length)
        : pages_{mrz::app::reserve_for_arena(length, 2_MiB)},
          arena_{mrz::Arena::build(
              "storage", {.size = length, .page_size = 2_MiB, .surplus = mrz::app::surplus_for(length, 2_MiB)})},
          zone_{arena_.reserve("storage", length)}
    {
    }
    [[nodiscard]] std::span<std::byte> bytes() const noexcept override { return zone_.bytes(); }

  private:
    mrz::app::ArenaPages pages_;
    mrz::app::Eal eal_;
    mrz::Arena arena_;
    mrz::Zone zone_;
};

} // namespace

std::string_view name(Pages pages) noexcept
{
    return pages == Pages::small ? "4K" : "2M";
}

std::unique_ptr<Memory> make_memory(Pages pages, std::size_t length)
{
    if (pages == Pages::small)
        return std::make_unique<Anonymous>(length, MADV_NOHUGEPAGE);
    return std::make_unique<OfArena>(length);
}

std::unique_ptr<Memory> make_store(std::size_t length)
{
    return std::make_unique<Anonymous>(length, MADV_HUGEPAGE);
}

KeptInPlace kept_in_place()
{
    KeptInPlace kept;
    std::ifstream status{"/proc/self/status"};
    for (std::string name; status >> name; status.ignore(std::numeric_limits<std::streamsize>::max(), '\n')) {
        if (name != "VmPin:" && name != "VmLck:")
            continue;
        std::uint64_t kibibytes = 0;
        status >> kibibytes;
        (name == "VmPin:" ? kept.pinned : kept.locked) = kibibytes * 1024;
    }
    return kept;
}

} // namespace bench::storage
