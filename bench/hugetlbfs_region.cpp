// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! The same amount from libhugetlbfs.
#include "subject.hpp"

#include <sys/mman.h>

#include <cerrno>
#include <system_error>

extern "C" {
#include <hugetlbfs.h>
}

namespace bench {

namespace {

class Region {
  public:
    // GHR_STRICT: by default a pool that is too small gives small pages without a word.
    Region() : address_{get_hugepage_region(size, GHR_STRICT)}
    {
        if (address_ == nullptr)
            throw std::system_error{errno, std::generic_category(), "get_hugepage_region"};
        // Whether the library has touched the pages depends on its environment; they are to be there at the end.
        if (madvise(address_, size, MADV_POPULATE_WRITE) != 0) {
            free_hugepage_region(address_);
            throw std::system_error{errno, std::generic_category(), "madvise"};
        }
    }
    Region(const Region&) = delete;
    Region& operator=(const Region&) = delete;
    ~Region() { free_hugepage_region(address_); }

    [[nodiscard]] const void* address() const noexcept { return address_; }

  private:
    void* address_;
};

void hugetlbfs_region(benchmark::State& state)
{
    measure(state, [] { return Region{}; });
}
BENCHMARK(hugetlbfs_region)->Name("hugetlbfs_region/1GiB")->Apply(one_run);

} // namespace

} // namespace bench
