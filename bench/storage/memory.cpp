// SPDX-License-Identifier: BSD-3-Clause
#include "memory.hpp"

#include <mrzone/base.hpp>

#include <fstream>
#include <limits>
#include <string>

namespace bench::storage {

using namespace mrz::literals;

std::string_view name(Pages pages) noexcept
{
    return pages == Pages::small ? "4K" : "2M";
}

std::unique_ptr<Memory> make_memory(Pages pages, std::size_t length)
{
    if (pages == Pages::small)
        return mrz::app::ordinary_memory(length, mrz::app::OrdinaryPages::small);
    return mrz::app::arena_memory("storage", length, 2_MiB);
}

std::unique_ptr<Memory> make_store(std::size_t length)
{
    return mrz::app::ordinary_memory(length, mrz::app::OrdinaryPages::as_the_kernel);
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
