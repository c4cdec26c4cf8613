// SPDX-License-Identifier: BSD-3-Clause
#include "arena_size.hpp"

#include "size.hpp"

#include <mrzone/host.hpp>
#include <mrzone/hugepage.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>

namespace mrz::app {

void check_machine_has(std::size_t size)
{
    const auto machine = host::memory_total();
    if (machine && size > *machine)
        throw Error{ENOMEM, Cause{.trouble = Trouble::hugepages,
                                  .what = "an arena of " + format_size(size),
                                  .limit = "memory of this machine, bytes",
                                  .present = machine,
                                  .need = size,
                                  .remedy = "ask for less"}};
}

void check_arena_size(std::size_t size, std::size_t page_size, std::string_view command)
{
    read_pool(page_size); // refuses a page size that this kernel lacks
    check_machine_has(size);
    if (size != 0 && size % page_size == 0)
        return;
    const std::size_t whole = std::max(size / page_size, std::size_t{1}) * page_size;
    throw Error{EINVAL, Cause{.trouble = Trouble::invalid,
                              .what = "an arena of " + format_size(size),
                              .limit = "sizes are whole pages and not zero; the page size, bytes",
                              .present = page_size,
                              .remedy = fmt::format("try: {} --size {} --page {}", command, size_argument(whole),
                                                    size_argument(page_size))}};
}

} // namespace mrz::app
