// SPDX-License-Identifier: BSD-3-Clause
#include "machine.hpp"

#include "subject.hpp"

#include <mrzone/hugepage.hpp>

#include <common/signals.hpp>

#include <memory>

namespace bench {

namespace {

//! A window may look at twice its pages and its header, the EAL takes some for itself.
constexpr std::size_t pages_needed = 2 * (size / page_size) + 128;

std::unique_ptr<Machine> machine;

} // namespace

Machine::Machine() : pool_{page_size, {}, pages_needed}
{
    sort_pool();
}

void Machine::sort_pool()
{
    const auto available = mrz::read_pool(page_size).available();
    const std::size_t header_pages = mrz::Window::header_size / page_size;
    if (available > header_pages)
        mrz::Window::build({.size = (available - header_pages) * page_size, .page_size = page_size});
}

void prepare()
{
    mrz::app::throw_if_interrupted();
    if (machine == nullptr)
        machine = std::make_unique<Machine>();
    Machine::sort_pool();
}

void release_machine() noexcept
{
    machine.reset();
}

} // namespace bench
