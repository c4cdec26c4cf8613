// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! In the guest: registers memory of many kinds, offsets and rights with mlx5_0 by its direct verbs, tells what was
//! planned for it, and holds it for as long as others look at the device: direct_registrar FOLDER
//!
//! FOLDER gets the file "planned", a JSON list; the program ends once "seen" is there, too.
#include <mrzone/region.hpp>
#include <mrzone/zone.hpp>

#include "../planned.hpp"
#include "support/eal.hpp"
#include "support/fragmented_pool.hpp"
#include "support/mapping.hpp"

#include <nlohmann/json.hpp>
#include <rte_memzone.h>

#include <array>
#include <filesystem>
#include <iostream>
#include <list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <sys/mman.h>

namespace mrz::test {
namespace {

using nlohmann::json;

constexpr int huge_2m = MAP_HUGETLB | 21 << MAP_HUGE_SHIFT;
constexpr int huge_1g = MAP_HUGETLB | 30 << MAP_HUGE_SHIFT;

constexpr Access all_rights =
    Access::local_write | Access::remote_read | Access::remote_write | Access::remote_atomic;

//! One key that a peer or the owner is given, and those below it.
json planned_region(const Region& region, std::uint32_t key, Access rights)
{
    const Plan& plan = region.plan();
    const Layout layout = layout_of(region);
    json planned = planned_key(plan.keys.front(), layout);
    if (plan.indirect) {
        planned = {{"start", plan.indirect->iova.value()}, {"bytes", plan.bytes}, {"below", json::array()}};
        planned["indirect"] = to_string(plan.indirect->kind);
        if (plan.indirect->entry_shift)
            planned["page_shift"] = plan.indirect->entry_shift->value();
        for (const IndirectEntry& entry : plan.indirect->entries) {
            json below = planned_key(plan.keys[entry.key], layout);
            below["leads_to"] = plan.leads_to(entry).value();
            below["length"] = entry.length;
            planned["below"].push_back(std::move(below));
        }
    }
    planned["key"] = key;
    std::string words = rights == (rights & Access::local_write) ? "lr" : "";
    for (const auto& [right, word] : {std::pair{Access::local_write, " lw"},
                                      {Access::remote_read, " rr"},
                                      {Access::remote_write, " rw"},
                                      {Access::remote_atomic, " a"}})
        if (grants(rights, right))
            words += words.empty() ? word + 1 : word;
    planned["rights"] = words;
    return planned;
}

class Registrar {
  public:
    void add(const Region& region, const std::string& what)
    {
        json local = planned_region(region, region.lkey().value, region.access() & Access::local_write);
        local["what"] = what + ", for its owner";
        local["explain"] = region.plan().explain();
        planned_.push_back(std::move(local));
        if (!has_remote_right(region.access()))
            return;
        json remote = planned_region(region, region.rkey().value, region.access() & remote_rights);
        remote["what"] = what + ", for peers";
        planned_.push_back(std::move(remote));
    }
    const Region& add(std::span<std::byte> memory, const std::string& what, Access access,
                      const RegionOptions& options = {})
    {
        const Region& region = regions_.emplace_back(domain_.register_memory(memory, access, options));
        if (region.built() || options.how.way == Way::memory_region)
            add(region, what);
        else
            throw std::runtime_error{"the device does not tell what it built: " + what};
        return region;
    }
    //! Parts of it that begin and end anywhere, with all kinds of rights.
    void add_parts(std::span<std::byte> memory, const std::string& what)
    {
        const std::size_t all = memory.size();
        const std::vector<std::pair<std::size_t, std::size_t>> parts = {
            {0, all}, {0x64, 64_KiB}, {4096, all - 4096}, {all / 2, all / 2}, {12345, all / 2}, {all - 4097, 10},
        };
        constexpr std::array rights{Access::local_read, Access::local_write, Access::remote_read, all_rights};
        std::size_t next = 0;
        for (const auto& [offset, length] : parts) {
            // Pinned for itself; and, once the whole is pinned, as a part of that.
            for (const Sharing sharing : {Sharing::never, Sharing::always}) {
                const std::string how = what + ", " + std::to_string(length) + " bytes from " +
                                        std::to_string(offset) + (sharing == Sharing::never ? ", alone" : ", shared");
                RegionOptions options;
                options.how.sharing = sharing;
                add(memory.subspan(offset, length), how, rights[next++ % rights.size()], options);
            }
        }
        RegionOptions elsewhere;
        elsewhere.iova = Iova{(std::uint64_t{1} << 41) + reinterpret_cast<std::uintptr_t>(memory.data()) % 4096};
        add(memory, what + ", at another iova", all_rights, elsewhere);
    }
    std::span<std::byte> map(std::size_t bytes, int flags) { return mappings_.emplace_back(bytes, flags).bytes(); }
    Arena& build(const std::string& name, std::size_t size)
    {
        return arenas_.emplace_back(Arena::build(name, {.size = size, .domains = {domain_}}));
    }
    void add_zone(Arena& arena, std::size_t size, Access access)
    {
        add(zones_.emplace_back(arena.reserve("zone", size, access)).region(domain_), "zone of an arena");
    }
    //! So that only some pages of the pool are left. Returns the bytes of most of them: who takes less may choose.
    std::size_t fragment()
    {
        held_.emplace(50U, 11U);
        return held_->free_frames().size() * 7 / 8 * fragmented_page_size;
    }
    [[nodiscard]] const json& planned() const { return planned_; }

  private:
    // Memory outlives its regions.
    std::list<Mapping> mappings_;
    Domain domain_ = Domain::open("mlx5_0");
    std::optional<HeldPages> held_;
    std::list<Arena> arenas_;
    std::list<Zone> zones_;
    std::list<Region> regions_;
    json planned_ = json::array();
};

void register_ordinary(Registrar& registrar)
{
    const std::span<std::byte> small = registrar.map(2_MiB, 0);
    ::madvise(small.data(), small.size(), MADV_NOHUGEPAGE);
    // From the last page to the first, so that neighbours are not in order.
    for (std::size_t at = small.size(); at > 0; at -= 4096)
        small[at - 1] = std::byte{1};
    registrar.add_parts(small, "4-KiB pages");

    const std::span<std::byte> room = registrar.map(6_MiB, 0);
    const auto address = reinterpret_cast<std::uintptr_t>(room.data());
    const std::span<std::byte> transparent = room.subspan((2_MiB - address % 2_MiB) % 2_MiB, 4_MiB);
    ::madvise(transparent.data(), transparent.size(), MADV_HUGEPAGE);
    registrar.add_parts(transparent, "transparent hugepages");

    registrar.add_parts(registrar.map(1_GiB, huge_1g), "1-GiB page");

    shuffled_free_pages(3);
    registrar.add_parts(registrar.map(32_MiB, huge_2m), "2-MiB pages, shuffled");
}

void register_arena(Registrar& registrar)
{
    constexpr std::size_t size = 512_MiB;
    Arena& arena = registrar.build("data", size);
    const std::span<std::byte> block = arena.windows().front().block();
    const Region& whole = registrar.add(block, "arena of 512 MiB", all_rights);
    std::cout << "arena of 512 MiB: " << whole.plan().explain() << std::endl;
    if (whole.plan().mtt_entries() != 1 || whole.plan().indirect)
        throw std::runtime_error{"the arena is more than one entry"};
    RegionOptions by_verbs;
    by_verbs.how.way = Way::memory_region;
    const Region& kernels = registrar.add(block, "arena of 512 MiB, by ibv_reg_mr", Access::local_write, by_verbs);
    std::cout << "the same by ibv_reg_mr: " << kernels.plan().explain() << std::endl;
    registrar.add_zone(arena, 1_MiB, Access::local_write | Access::remote_read | Access::remote_write);

    const rte_memzone* const plain =
        ::rte_memzone_reserve("plain", size, SOCKET_ID_ANY, RTE_MEMZONE_2MB | RTE_MEMZONE_SIZE_HINT_ONLY);
    if (plain == nullptr)
        throw std::runtime_error{"DPDK has no memory of its own"};
    const Region& own =
        registrar.add({static_cast<std::byte*>(plain->addr), size}, "512 MiB of DPDK's", Access::local_write);
    std::cout << "512 MiB of DPDK's own memory: " << own.plan().explain() << std::endl;
}

void register_fragmented_arena(Registrar& registrar)
{
    const std::size_t size = registrar.fragment();
    const std::span<std::byte> block = registrar.build("fragmented", size).windows().front().block();
    const Region& whole = registrar.add(block, "fragmented arena", all_rights);
    std::cout << "fragmented arena of " << format_size(size) << ": " << whole.plan().explain() << std::endl;
    RegionOptions direct;
    direct.indirect = false;
    direct.how.sharing = Sharing::never;
    const Region& one = registrar.add(block, "fragmented arena, one direct key", Access::local_write, direct);
    std::cout << "the same as one direct key: " << one.plan().explain() << std::endl;
    if (!whole.plan().indirect)
        throw std::runtime_error{"the fragmented arena has no key over others"};
    registrar.add_parts(block.first(16_MiB), "part of a fragmented arena");
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
        const PoolOfGigabytes pool{1024};
        const Eal eal{{"--in-memory", "--iova-mode=va", "-m", "8"}};
        Registrar registrar;
        // While the pool is in one piece.
        register_arena(registrar);
        register_ordinary(registrar);
        register_fragmented_arena(registrar);
        show(registrar.planned(), folder);
    } catch (const std::exception& error) {
        std::cerr << error.what() << '\n';
        return 1;
    }
    return 0;
}
