// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! What this process holds: equal before and after means that nothing was left behind.
#pragma once

#include <mrzone/hugepage.hpp>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <ostream>
#include <string>

namespace mrz::test {

struct Footprint {
    std::uint64_t free_pages = 0;
    std::uint64_t reserved_pages = 0;
    std::size_t descriptors = 0;
    std::size_t hugepage_mappings = 0;

    static Footprint now(std::size_t page_size = std::size_t{2} << 20)
    {
        const Pool pool = read_pool(page_size);
        Footprint footprint{.free_pages = pool.free, .reserved_pages = pool.reserved};
        for (const auto& entry : std::filesystem::directory_iterator{"/proc/self/fd"}) {
            static_cast<void>(entry);
            ++footprint.descriptors;
        }
        std::ifstream maps{"/proc/self/maps"};
        for (std::string line; std::getline(maps, line);)
            footprint.hugepage_mappings += line.find("memfd:mrzone") != std::string::npos ? 1 : 0;
        return footprint;
    }

    friend bool operator==(const Footprint&, const Footprint&) = default;
    friend std::ostream& operator<<(std::ostream& stream, const Footprint& it)
    {
        return stream << it.free_pages << " free and " << it.reserved_pages << " reserved pages, " << it.descriptors
                      << " descriptors, " << it.hugepage_mappings << " mappings of hugepages";
    }
};

} // namespace mrz::test
