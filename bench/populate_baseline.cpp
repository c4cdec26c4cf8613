// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! The least that hugepages can cost on one thread: the kernel's own calls, no order, no placement.
#include "subject.hpp"

#include <mrzone/hugepage.hpp>

#include <linux/memfd.h>
#include <sys/mman.h>

#include <cerrno>
#include <fcntl.h>
#include <system_error>

namespace bench {

namespace {

[[noreturn]] void fail(const char* call)
{
    throw std::system_error{errno, std::generic_category(), call};
}

class Populated {
  public:
    explicit Populated(std::size_t bytes)
        : bytes_{bytes}, file_{memfd_create("populate_baseline", MFD_CLOEXEC | MFD_HUGETLB | MFD_HUGE_2MB)}
    {
        if (file_.get() < 0)
            fail("memfd_create");
        if (fallocate(file_.get(), 0, 0, static_cast<off_t>(bytes)) != 0)
            fail("fallocate");
        address_ = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file_.get(), 0);
        if (address_ == MAP_FAILED)
            fail("mmap");
        if (madvise(address_, bytes, MADV_POPULATE_WRITE) != 0) {
            munmap(address_, bytes);
            fail("madvise");
        }
    }
    Populated(const Populated&) = delete;
    Populated& operator=(const Populated&) = delete;
    ~Populated() { munmap(address_, bytes_); }

    [[nodiscard]] const void* address() const noexcept { return address_; }

  private:
    std::size_t bytes_;
    mrz::FileDescriptor file_;
    void* address_ = nullptr;
};

void populate_baseline(benchmark::State& state, std::size_t bytes)
{
    measure(
        state, [bytes] { return Populated{bytes}; }, bytes);
}
BENCHMARK_CAPTURE(populate_baseline, , 1_GiB)->Name("populate_baseline/1GiB")->Apply(one_run);
BENCHMARK_CAPTURE(populate_baseline, , 4_GiB)->Name("populate_baseline/4GiB")->Apply(one_run);
BENCHMARK_CAPTURE(populate_baseline, , 16_GiB)->Name("populate_baseline/16GiB")->Apply(one_run);

} // namespace

} // namespace bench
