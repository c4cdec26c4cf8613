// SPDX-License-Identifier: BSD-3-Clause
#include "heap.hpp"

#include "dpdk.hpp"
#include "eal_iovas.hpp"

#include <rte_config.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_malloc.h>
#include <rte_memory.h>

#include <cerrno>
#include <sys/mman.h>
#include <vector>

namespace mrz {

Heap::Heap(std::string name, Role role) : name_{std::move(name)}, role_{role}
{
    if (role_ == Role::owner && rte_malloc_heap_create(name_.c_str()) != 0)
        throw dpdk_error(rte_errno, "cannot create the heap \"" + name_ + '"');
    socket_id_ = rte_malloc_heap_get_socket(name_.c_str());
    if (socket_id_ < 0)
        throw dpdk_error(rte_errno, "cannot find the heap \"" + name_ + '"');
}

Heap::~Heap()
{
    if (role_ == Role::owner && !left_ && rte_malloc_heap_destroy(name_.c_str()) != 0)
        log(Severity::warning, "the empty heap \"" + name_ + "\" could not be destroyed: " + rte_strerror(rte_errno));
}

void Heap::add(const Window& window)
{
    if (role_ == Role::guest) {
        if (rte_malloc_heap_memory_attach(name_.c_str(), window.address(), window.length()) != 0)
            throw dpdk_error(rte_errno, "cannot attach memory of the heap \"" + name_ + '"');
        memory_list_ = rte_mem_virt2memseg_list(window.address());
        return;
    }
    std::vector<std::uint64_t> iovas = eal_iovas(window);
    if (iovas.empty())
        log_once(Severity::warning,
                 "the EAL uses physical addresses, but frames are hidden: no device can use memory "
                 "of the heap \"" +
                     name_ + "\"; start the EAL with --iova-mode=va, or run with CAP_SYS_ADMIN");
    if (rte_malloc_heap_memory_add(
            name_.c_str(), window.address(), window.length(), iovas.empty() ? nullptr : iovas.data(),
            static_cast<unsigned>(window.length() / Window::header_size), Window::header_size) != 0)
        throw dpdk_error(rte_errno, "cannot add " + format_size(window.length()) + " to the heap \"" + name_ + '"');
    memory_list_ = rte_mem_virt2memseg_list(window.address());
}

bool Heap::eal_is_gone() const noexcept
{
    // No call of DPDK says so. Under --in-memory this memory stays, and so do the calls that need it.
    const auto page = reinterpret_cast<std::uintptr_t>(memory_list_) & ~std::uintptr_t{4095};
    unsigned char resident = 0;
    return memory_list_ != nullptr && ::mincore(reinterpret_cast<void*>(page), 1, &resident) != 0 && errno == ENOMEM;
}

void Heap::remove(const Window& window)
{
    const auto take_out = role_ == Role::guest ? rte_malloc_heap_memory_detach : rte_malloc_heap_memory_remove;
    if (take_out(name_.c_str(), window.address(), window.length()) != 0)
        throw dpdk_error(rte_errno,
                         "cannot remove " + format_size(window.length()) + " from the heap \"" + name_ + '"');
}

unsigned Heap::allocations() const
{
    rte_malloc_socket_stats stats{};
    return rte_malloc_get_socket_stats(socket_id_, &stats) == 0 ? stats.alloc_count : 0;
}

} // namespace mrz
