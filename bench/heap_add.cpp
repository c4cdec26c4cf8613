// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! What DPDK does when a window becomes a heap: it writes all the memory once more (malloc_heap_add_external_memory
//! clears the new element), on one thread. The window is built outside of the timing.
#include "subject.hpp"

#include <mrzone/hugepage.hpp>

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_malloc.h>

#include <stdexcept>
#include <string>
#include <vector>

namespace bench {

namespace {

constexpr const char* heap_name = "bench_heap";

void check(int result, const char* call)
{
    if (result != 0)
        throw std::runtime_error{std::string{call} + ": " + rte_strerror(rte_errno)};
}

class Heap {
  public:
    Heap() { check(rte_malloc_heap_create(heap_name), "rte_malloc_heap_create"); }
    Heap(const Heap&) = delete;
    Heap& operator=(const Heap&) = delete;
    ~Heap() { rte_malloc_heap_destroy(heap_name); }
};

//! A window's memory while it belongs to the heap.
class Added {
  public:
    Added(const mrz::Window& window, std::vector<rte_iova_t>& addresses) : window_{window}
    {
        check(rte_malloc_heap_memory_add(heap_name, window.address(), window.length(), addresses.data(),
                                         static_cast<unsigned>(addresses.size()), page_size),
              "rte_malloc_heap_memory_add");
    }
    Added(const Added&) = delete;
    Added& operator=(const Added&) = delete;
    ~Added() { rte_malloc_heap_memory_remove(heap_name, window_.address(), window_.length()); }

    [[nodiscard]] const void* address() const noexcept { return window_.block().data(); }

  private:
    const mrz::Window& window_;
};

//! The addresses that the EAL's mode asks for, one a page.
std::vector<rte_iova_t> eal_iovas(const mrz::Window& window)
{
    std::vector<rte_iova_t> addresses;
    for (std::size_t offset = 0; offset < window.length(); offset += page_size) {
        const auto frame = window.frames()[offset / page_size].value();
        const auto va = reinterpret_cast<rte_iova_t>(window.address()) + offset;
        addresses.push_back(rte_eal_iova_mode() == RTE_IOVA_VA ? va : frame);
    }
    return addresses;
}

void heap_add(benchmark::State& state)
{
    run(state, [&] {
        prepare();
        const auto window = mrz::Window::build({.size = size, .page_size = page_size, .threads = 1});
        auto addresses = eal_iovas(window);
        const Heap heap;
        measure(state, [&] { return Added{window, addresses}; });
    });
}
BENCHMARK(heap_add)->Name("heap_add/1GiB")->Apply(one_run);

} // namespace

} // namespace bench
