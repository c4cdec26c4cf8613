// SPDX-License-Identifier: BSD-3-Clause
#include "allocations.hpp"

#include <cstddef>
#include <cstdlib>
#include <new>

namespace mrz::test {

thread_local std::optional<unsigned> allocations_left;
thread_local bool no_memory = false;

} // namespace mrz::test

namespace {

using mrz::test::allocations_left;
using mrz::test::no_memory;

void* allocate(std::size_t size, std::size_t alignment)
{
    if (no_memory)
        return nullptr;
    if (allocations_left && (*allocations_left)-- == 0) {
        allocations_left.reset();
        return nullptr;
    }
    // aligned_alloc() wants a multiple.
    void* memory = alignment <= alignof(std::max_align_t)
                       ? std::malloc(size != 0 ? size : 1)
                       : std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
    return memory;
}

void* allocate_or_throw(std::size_t size, std::size_t alignment)
{
    void* memory = allocate(size, alignment);
    if (memory == nullptr)
        throw std::bad_alloc{};
    return memory;
}

} // namespace

// For the whole program. The forms for arrays, and those that do not throw, come down to these.
void* operator new(std::size_t size)
{
    return allocate_or_throw(size, alignof(std::max_align_t));
}
void* operator new(std::size_t size, std::align_val_t alignment)
{
    return allocate_or_throw(size, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept
{
    std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept
{
    std::free(memory);
}
void operator delete(void* memory, std::align_val_t) noexcept
{
    std::free(memory);
}
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept
{
    std::free(memory);
}
