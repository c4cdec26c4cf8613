// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! mrz-fragmentation: how many translation entries and keys 1 GiB needs, by kind of memory, in pools of which a part
//! is held by others and the rest comes in random order. Prints a table in Markdown. Root.
#include "support/eal.hpp"
#include "support/fragmented_pool.hpp"
#include "support/hugetlbfs_mount.hpp"

#include <common/signals.hpp>
#include <common/temporary_pool.hpp>

#include <mrzone/zone.hpp>

#include <rte_memzone.h>

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <exception>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using namespace mrz;
using namespace mrz::literals;
using namespace mrz::test;

constexpr std::size_t size = 1_GiB;
constexpr std::uint64_t pool_pages = 1536;

//! What a child tells its parent. Plain data: it goes through a pipe.
struct Cost {
    std::uint64_t extents = 0;
    std::uint64_t entries = 0; //!< Of one direct key.
    std::uint64_t keys = 0;    //!< And what follows of the cheapest plan with KLM keys.
    std::uint64_t klm_entries = 0;
    std::uint64_t mtt_entries = 0;
    std::uint64_t cost = 0;
};

Cost cost_of(const SeenMemory& memory)
{
    const Plan one = memory.one_key(WindowOptions{}.limits);
    const Plan cheapest = memory.cheapest(limits_with_klm());
    return {.extents = memory.layout.extents().size(),
            .entries = one.mtt_entries(),
            .keys = cheapest.keys.size() + (cheapest.indirect ? 1 : 0),
            .klm_entries = cheapest.indirect_entries(),
            .mtt_entries = cheapest.mtt_entries(),
            .cost = cheapest.cost()};
}

Cost of_memzone()
{
    const rte_memzone* const zone = rte_memzone_reserve("fragmentation", size, SOCKET_ID_ANY, 0);
    if (zone == nullptr)
        throw std::runtime_error{"no memzone of this size"};
    // It begins within a page. What is looked at are as many pages as its size has, from that one on.
    const auto from = reinterpret_cast<std::uintptr_t>(zone->addr) / fragmented_page_size * fragmented_page_size;
    return cost_of(SeenMemory::of(reinterpret_cast<const void*>(from), size));
}

Cost of_default_memzone()
{
    const Eal eal{{"--in-memory"}};
    return of_memzone();
}

Cost of_legacy_memzone(const std::string& mode)
{
    const HugetlbfsMount mount;
    const Eal eal{{"--legacy-mem", "--no-shconf", "--huge-unlink", "-m", "1040", "--iova-mode=" + mode,
                   "--huge-dir=" + mount.path()}};
    return of_memzone();
}

Cost of_arena(const Limits& limits)
{
    const Eal eal{{"--in-memory"}};
    Arena arena = Arena::build("fragmentation", {.size = size, .surplus = Surplus::pool(0), .limits = limits});
    const Zone zone = arena.reserve("fragmentation", size);
    return cost_of(SeenMemory::of(zone.bytes().data(), size));
}

struct Kind {
    const char* name;
    std::function<Cost()> measure;
};

const std::vector<Kind>& kinds()
{
    static const std::vector<Kind> all = {
        {"plain mapping", [] { return cost_of(plain_mapping(size)); }},
        {"DPDK, default", of_default_memzone},
        {"DPDK, legacy, IOVA as PA", [] { return of_legacy_memzone("pa"); }},
        {"DPDK, legacy, IOVA as VA", [] { return of_legacy_memzone("va"); }},
        {"arena for one key", [] { return of_arena(WindowOptions{}.limits); }},
        {"arena for KLM", [] { return of_arena(limits_with_klm()); }},
    };
    return all;
}

//! An EAL can be had once a process. None if the kind of memory cannot be had, which the child says.
std::optional<Cost> in_child(const Kind& kind)
{
    int ends[2];
    if (::pipe(ends) != 0)
        throw std::runtime_error{"pipe"};
    std::fflush(nullptr);
    const pid_t child = ::fork();
    if (child < 0)
        throw std::runtime_error{"fork"};
    if (child == 0) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        int status = 1;
        try {
            const Cost cost = kind.measure();
            status = ::write(ends[1], &cost, sizeof cost) == static_cast<ssize_t>(sizeof cost) ? 0 : 1;
        } catch (const std::exception& error) {
            std::fprintf(stderr, "%s: %s\n", kind.name, error.what());
        }
        ::_exit(status);
    }
    ::close(ends[1]);
    Cost cost;
    const bool got = ::read(ends[0], &cost, sizeof cost) == static_cast<ssize_t>(sizeof cost);
    ::close(ends[0]);
    int status = 0;
    ::waitpid(child, &status, 0);
    return got && status == 0 ? std::optional{cost} : std::nullopt;
}

void print_table()
{
    std::printf(
        "| held | memory | extents | entries, one key | cheapest with KLM: keys | MTT + KLM entries | cost |\n"
        "|---|---|---|---|---|---|---|\n");
    for (const unsigned percent : {0U, 5U, 20U, 50U}) {
        const HeldPages held{percent, 11};
        for (const Kind& kind : kinds()) {
            app::throw_if_interrupted();
            shuffled_free_pages(7);
            const std::optional<Cost> cost = in_child(kind);
            if (cost)
                std::printf(
                    "| %u %% | %s | %llu | %llu | %llu | %llu + %llu | %llu |\n", percent, kind.name,
                    static_cast<unsigned long long>(cost->extents), static_cast<unsigned long long>(cost->entries),
                    static_cast<unsigned long long>(cost->keys), static_cast<unsigned long long>(cost->mtt_entries),
                    static_cast<unsigned long long>(cost->klm_entries), static_cast<unsigned long long>(cost->cost));
            else
                std::printf("| %u %% | %s | none to be had | | | | |\n", percent, kind.name);
            std::fflush(stdout);
        }
    }
}

} // namespace

int main()
{
    try {
        app::watch_signals();
        const app::TemporaryPool pool{fragmented_page_size, {}, pool_pages};
        print_table();
    } catch (const std::exception& error) {
        std::fprintf(stderr, "mrz-fragmentation: %s\n", error.what());
        return 1;
    }
    return 0;
}
