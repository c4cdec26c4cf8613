// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! That the page size which is planned for a region is what a stock kernel chooses for it: ib_umem_find_best_pgsz(),
//! of the region's own pinned memory, as the module probe/mrz_umem tells.
#include <mrzone/zone.hpp>

#include "support/eal.hpp"
#include "support/in_child.hpp"
#include "support/mapping.hpp"
#include "support/require.hpp"
#include "support/run_program.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

namespace mrz::test {
namespace {

//! What the kernel chose for a region.
struct Chosen {
    std::uint64_t start = 0, length = 0, iova = 0;
    unsigned page_shift = 0;
    std::uint64_t pages = 0;
};

std::optional<Chosen> last_chosen()
{
    std::ifstream file{"/sys/kernel/debug/mrz_umem"};
    std::optional<Chosen> last;
    for (std::string line; std::getline(file, line);) {
        std::istringstream words{line};
        Chosen chosen;
        if (words >> std::hex >> chosen.start >> std::dec >> chosen.length >> std::hex >> chosen.iova >> std::dec >>
            chosen.page_shift >> chosen.pages)
            last = chosen;
    }
    return last;
}

class PageSize : public testing::Test {
  protected:
    void SetUp() override
    {
        const char* const probe = std::getenv("MRZ_UMEM_PROBE");
        MRZ_REQUIRE(probe != nullptr, "the module probe/mrz_umem is not there");
        domain = Domain::open("rxe0");
        const Limits limits = domain->limits();
        const std::uint64_t sizes = limits.max_page_shift.bytes() * 2 - limits.min_page_shift.bytes();
        const ProgramResult loaded =
            RunningProgram{{"/sbin/insmod", probe, "page_sizes=" + std::to_string(sizes)}}.wait();
        ASSERT_EQ(loaded.status, 0) << loaded.err;
        is_loaded = true;
    }
    void TearDown() override
    {
        if (!is_loaded)
            return;
        EXPECT_EQ(RunningProgram({"/sbin/rmmod", "mrz_umem"}).wait().status, 0);
        for (const auto& [what, count] : seen)
            std::printf("%s: %u regions\n", what.c_str(), count);
    }

    //! Registers memory at an iova, and compares the plan with what the kernel says.
    void compare(const Domain& in, std::span<std::byte> memory, std::optional<Iova> iova, const std::string& what)
    {
        SCOPED_TRACE(what + ", " + format_size(memory.size()) + " at " +
                     format_hex(reinterpret_cast<std::uintptr_t>(memory.data())));
        const Region region = in.register_memory(memory, Access::local_write, {.iova = iova});
        EXPECT_FALSE(region.built()) << "no verb tells it";
        const std::optional<Chosen> chosen = last_chosen();
        ASSERT_TRUE(chosen);
        ASSERT_EQ(chosen->start, reinterpret_cast<std::uintptr_t>(memory.data()));
        ASSERT_EQ(chosen->length, memory.size());
        ASSERT_EQ(chosen->iova, region.iova().value());
        ASSERT_EQ(region.plan().keys.size(), 1U);
        EXPECT_EQ(chosen->page_shift, region.plan().keys.front().page_shift.value()) << region.plan().explain();
        EXPECT_EQ(chosen->pages, region.plan().mtt_entries()) << region.plan().explain();
        ++seen[what + ": pages of " + format_size(std::uint64_t{1} << chosen->page_shift)];
    }
    //! Parts that begin and end anywhere, each at its own address, at one that is congruent to its frames, and at
    //! others.
    void compare_parts(const Domain& in, std::span<std::byte> memory, const std::string& what)
    {
        const std::size_t all = memory.size();
        const std::vector<std::pair<std::size_t, std::size_t>> parts = {
            {0, all},         {0, 1},           {1, 4096},       {4096, all - 4096},   {all / 2, all / 2},
            {12345, all / 2}, {all - 4097, 10}, {all / 4, 4097}, {2 * 4096, 8 * 4096}, {all / 2 - 4096, 2 * 4096},
        };
        for (const auto& [offset, length] : parts) {
            const std::span<std::byte> part = memory.subspan(offset, length);
            compare(in, part, std::nullopt, what);
            const auto layout = read_layout(part, DmaView::frames);
            ASSERT_TRUE(layout);
            const DmaAddress first = layout->extents().front().dma;
            compare(in, part, Iova{first.value()}, what);
            compare(in, part, Iova{first.value() + (std::uint64_t{1} << 40) + 2_MiB}, what);
            compare(in, part, Iova{(std::uint64_t{1} << 41) + 64_KiB + first.value() % 4096}, what);
        }
    }

    std::optional<Domain> domain;
    std::map<std::string, unsigned> seen;
    bool is_loaded = false;
};

} // namespace

TEST_F(PageSize, OfSmallPagesIsAsPlanned)
{
    const Mapping memory{8_MiB, 0};
    ::madvise(memory.bytes().data(), memory.bytes().size(), MADV_NOHUGEPAGE);
    compare_parts(*domain, memory.bytes(), "small pages");
}

TEST_F(PageSize, OfTransparentHugepagesIsAsPlanned)
{
    std::ofstream{"/sys/kernel/mm/transparent_hugepage/enabled"} << "always" << std::flush;
    const Mapping memory{18_MiB, 0};
    const auto address = reinterpret_cast<std::uintptr_t>(memory.bytes().data());
    const std::span<std::byte> aligned = memory.bytes().subspan((2_MiB - address % 2_MiB) % 2_MiB, 16_MiB);
    ::madvise(aligned.data(), aligned.size(), MADV_HUGEPAGE);
    compare_parts(*domain, aligned, "transparent hugepages");
    EXPECT_TRUE(seen.contains("transparent hugepages: pages of 2 MiB")) << "the kernel gave none";
}

TEST_F(PageSize, OfHugepagesIsAsPlanned)
{
    const Mapping memory{32_MiB, MAP_HUGETLB};
    compare_parts(*domain, memory.bytes(), "2-MiB pages");
}

TEST_F(PageSize, OfOneGigabytePagesIsAsPlanned)
{
    const Mapping memory{1_GiB, MAP_HUGETLB | 30 << 26}; // MAP_HUGE_1GB
    compare_parts(*domain, memory.bytes(), "1-GiB page");
    EXPECT_TRUE(seen.contains("1-GiB page: pages of 1 GiB"));
}

TEST_F(PageSize, OfArenasIsAsPlanned)
{
    in_child([this] {
        const Domain own = Domain::open("rxe0");
        const Eal eal{{"--in-memory", "--iova-mode=va", "-m", "8"}};
        Arena arena = Arena::build("data", {.size = 64_MiB, .domains = {own}});
        const Window& window = arena.windows().front();
        const std::span<std::byte> block{window.address() + Window::header_size, 64_MiB};
        const std::optional<Chosen> chosen = last_chosen(); // of the arena's own region
        ASSERT_TRUE(chosen);
        EXPECT_EQ(chosen->length, block.size());
        EXPECT_EQ(chosen->pages, arena.region(own, block.data(), block.size()).plan().mtt_entries());
        EXPECT_LT(chosen->pages, 32U) << "it was not placed";
        compare_parts(own, block, "arena");
        arena.close();
    });
}

} // namespace mrz::test
