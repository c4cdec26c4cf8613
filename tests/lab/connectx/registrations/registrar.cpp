// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! In the guest: registers memory of many kinds with mlx5_0 by ibv_reg_mr, tells what was planned for it, and holds
//! it for as long as others look at the device: registrar FOLDER
//!
//! FOLDER gets the file "planned", a JSON list; the program ends once "seen" is there, too.
#include <mrzone/host.hpp>
#include <mrzone/region.hpp>

#include "../planned.hpp"
#include "support/mapping.hpp"

#include <nlohmann/json.hpp>

#include <cstdio>
#include <filesystem>
#include <iostream>
#include <list>
#include <string>
#include <vector>

#include <sys/mman.h>

namespace mrz::test {
namespace {

using nlohmann::json;

class Registrar {
  public:
    //! Registers memory at its own address.
    void add(std::span<std::byte> memory, const std::string& what)
    {
        const Region& region = regions_.emplace_back(domain_.register_memory(memory, Access::local_write));
        json planned = planned_key(region.plan().keys.at(0), layout_of(region));
        planned["what"] = what;
        planned["key"] = region.lkey().value;
        planned_.push_back(std::move(planned));
    }
    std::span<std::byte> map(std::size_t bytes, int flags) { return mappings_.emplace_back(bytes, flags).bytes(); }
    [[nodiscard]] const json& planned() const { return planned_; }

  private:
    // Memory outlives its regions.
    std::list<Mapping> mappings_;
    Domain domain_ = Domain::open("verbs:mlx5_0");
    std::list<Region> regions_;
    json planned_ = json::array();
};

//! Each page's neighbour belongs to the other memory, so that a page is seldom next to the one that it was mapped
//! before.
void scatter(std::span<std::byte> one, std::span<std::byte> other)
{
    constexpr std::size_t page = 4096;
    for (std::size_t at = 0; at < one.size(); at += page) {
        one[one.size() - page - at] = std::byte{1};
        other[at] = std::byte{1};
    }
}

void register_all(Registrar& registrar)
{
    constexpr int huge_2m = MAP_HUGETLB | 21 << MAP_HUGE_SHIFT;
    constexpr int huge_1g = MAP_HUGETLB | 30 << MAP_HUGE_SHIFT;

    const std::span<std::byte> small = registrar.map(1_MiB, 0);
    const std::span<std::byte> other = registrar.map(1_MiB, 0);
    ::madvise(small.data(), small.size(), MADV_NOHUGEPAGE);
    ::madvise(other.data(), other.size(), MADV_NOHUGEPAGE);
    scatter(small, other);
    registrar.add(small.first(64_KiB), "64 KiB on 4-KiB pages");
    registrar.add(small.subspan(0x64, 64_KiB), "64 KiB on 4-KiB pages, at offset 0x64");
    registrar.add(small, "1 MiB on 4-KiB pages");

    const std::span<std::byte> huge = registrar.map(64_MiB, huge_2m);
    registrar.add(huge.first(2_MiB), "2 MiB on 2-MiB pages");
    registrar.add(huge.first(8_MiB), "8 MiB on 2-MiB pages");
    registrar.add(huge, "64 MiB on 2-MiB pages");
    registrar.add(huge.subspan(3 * 4096, 4096), "4 KiB within a 2-MiB page");
    registrar.add(huge.subspan(1_MiB + 12345, 3_MiB), "3 MiB across 2-MiB pages");

    const std::span<std::byte> whole = registrar.map(1_GiB, huge_1g);
    registrar.add(whole, "1 GiB on a 1-GiB page");
    registrar.add(whole.subspan(512_MiB, 64_MiB), "64 MiB within a 1-GiB page");

    const std::span<std::byte> room = registrar.map(6_MiB, 0);
    const auto address = reinterpret_cast<std::uintptr_t>(room.data());
    const std::span<std::byte> transparent = room.subspan((2_MiB - address % 2_MiB) % 2_MiB, 4_MiB);
    ::madvise(transparent.data(), transparent.size(), MADV_HUGEPAGE);
    registrar.add(transparent, "4 MiB on transparent hugepages");
}

} // namespace
} // namespace mrz::test

int main(int argc, char** argv)
{
    using namespace mrz::test;
    if (argc != 2)
        return 2;
    const std::filesystem::path folder{argv[1]};
    try {
        Registrar registrar;
        register_all(registrar);
        show(registrar.planned(), folder);
    } catch (const std::exception& error) {
        std::cerr << error.what() << '\n';
        return 1;
    }
    return 0;
}
