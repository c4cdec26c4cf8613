// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Arenas mapped for a port behind an IOMMU: what the kernel did, by its own tracepoints.
#include <mrzone/zone.hpp>

#include "support/eal.hpp"
#include "support/in_child.hpp"
#include "support/kernel_trace.hpp"
#include "support/pool_guard.hpp"
#include "support/require.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <rte_dev.h>
#include <rte_ethdev.h>
#include <rte_malloc.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include <sys/mman.h>

namespace mrz::test {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAreArray;

std::string word_in(const fs::path& file)
{
    std::ifstream stream{file};
    std::string word;
    stream >> word;
    return word;
}

//! Whether somebody took it. A driver's refusal is an error of the write.
bool write_to(const fs::path& file, const std::string& text)
{
    std::ofstream stream{file};
    return static_cast<bool>(stream << text << std::flush);
}

//! The address of the first virtio network device on PCI, as "0000:00:03.0".
std::optional<std::string> virtio_port()
{
    for (const fs::directory_entry& device : fs::directory_iterator{"/sys/bus/pci/devices"})
        if (word_in(device.path() / "vendor") == "0x1af4" && word_in(device.path() / "device") == "0x1041")
            return device.path().filename().string();
    return {};
}

bool bind_to_vfio(const std::string& port)
{
    const fs::path device = fs::path{"/sys/bus/pci/devices"} / port;
    if (fs::exists(device / "driver"))
        write_to(device / "driver/unbind", port);
    write_to(device / "driver_override", "vfio-pci");
    write_to("/sys/bus/pci/drivers_probe", port);
    return fs::exists(device / "driver") && fs::read_symlink(device / "driver").filename() == "vfio-pci";
}

//! A run that is contiguous for the device and in memory.
struct Piece {
    std::uint64_t iova = 0;
    std::uint64_t frame = 0;
    std::uint64_t length = 0;
    friend bool operator==(const Piece&, const Piece&) = default;
    friend std::ostream& operator<<(std::ostream& out, const Piece& piece)
    {
        return out << std::hex << piece.iova << " → " << piece.frame << " (" << piece.length << ')' << std::dec;
    }
};

//! As few as there can be for 2-MiB pages at these frames.
std::vector<Piece> pieces_of(std::uintptr_t address, std::span<const DmaAddress> frames)
{
    std::vector<Piece> pieces;
    for (const DmaAddress frame : frames) {
        if (pieces.empty() || pieces.back().frame + pieces.back().length != frame.value())
            pieces.push_back({address, frame.value(), 0});
        pieces.back().length += 2_MiB;
        address += 2_MiB;
    }
    return pieces;
}

//! What the kernel mapped in a range, by iommu:map.
std::vector<Piece> pieces_in(const std::vector<std::string>& lines, std::uint64_t begin, std::uint64_t end)
{
    std::vector<Piece> pieces;
    for (const std::string& line : lines) {
        Piece piece;
        std::uint64_t last = 0;
        const std::size_t at = line.find("iova=");
        if (line.find(" map: ") == std::string::npos || at == std::string::npos ||
            std::sscanf(line.c_str() + at, "iova=%lx - %lx paddr=%lx size=%lu", &piece.iova, &last, &piece.frame,
                        &piece.length) != 4)
            continue;
        if (piece.iova >= begin && piece.iova < end)
            pieces.push_back(piece);
    }
    return pieces;
}

std::uint64_t unmapped_in(const std::vector<std::string>& lines, std::uint64_t begin, std::uint64_t end)
{
    std::uint64_t bytes = 0;
    for (const std::string& line : lines) {
        std::uint64_t first = 0;
        std::uint64_t last = 0;
        const std::size_t at = line.find("iova=");
        if (line.find(" unmap: ") != std::string::npos && at != std::string::npos &&
            std::sscanf(line.c_str() + at, "iova=%lx - %lx", &first, &last) == 2 && first >= begin && first < end)
            bytes += last - first;
    }
    return bytes;
}

class BehindAnIommu : public testing::Test {
  protected:
    void SetUp() override
    {
        MRZ_REQUIRE(geteuid() == 0, "needs root");
        const std::optional<std::string> found = virtio_port();
        MRZ_REQUIRE(found.has_value(), "needs a virtio port on PCI");
        port_ = *found;
        MRZ_REQUIRE(bind_to_vfio(port_), "needs an IOMMU, so that vfio-pci takes the port");
    }

    std::string port_;
};

} // namespace

TEST_F(BehindAnIommu, AnArenaIsMappedInAsFewPiecesAsPlanned)
{
    in_child([this] {
        const Eal eal{{"--in-memory", "-a", port_, "-m", "64"}};
        ASSERT_EQ(rte_eth_dev_count_avail(), 1);
        ASSERT_EQ(rte_eal_iova_mode(), RTE_IOVA_VA);
        EXPECT_EQ(host::iommu(), host::Iommu::translating);
        scramble_pool(2_MiB);
        Arena arena = Arena::build("data", {.size = 512_MiB});
        const Window& window = arena.windows()[0];
        ASSERT_TRUE(window.frames_known());
        const auto begin = reinterpret_cast<std::uint64_t>(window.address());
        const std::uint64_t end = begin + window.length();

        KernelTrace trace{{"iommu/map", "iommu/unmap"}};
        EXPECT_EQ(arena.map_for(0), PortMapping::mapped);
        const std::vector<Piece> planned = pieces_of(begin, window.frames());
        EXPECT_THAT(pieces_in(trace.lines(), begin, end), ElementsAreArray(planned));
        // The block's and the header page's.
        EXPECT_LE(planned.size(), window.layout().extents().size() + 1);

        trace.clear();
        arena.close();
        EXPECT_EQ(unmapped_in(trace.lines(), begin, end), 512_MiB + Window::header_size);
    });
}

TEST_F(BehindAnIommu, PagesAsTheyComeTakeMorePieces)
{
    in_child([this] {
        const Eal eal{{"--in-memory", "-a", port_, "-m", "64"}};
        scramble_pool(2_MiB);
        constexpr std::size_t length = 512_MiB;
        void* memory = ::mmap(nullptr, length, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | MAP_POPULATE, -1, 0);
        ASSERT_NE(memory, MAP_FAILED);
        const auto begin = reinterpret_cast<std::uint64_t>(memory);
        std::size_t as_they_come = 0;
        rte_eth_dev_info port{};
        ASSERT_EQ(rte_eth_dev_info_get(0, &port), 0);
        ASSERT_EQ(rte_extmem_register(memory, length, nullptr, 0, 2_MiB), 0);
        {
            KernelTrace trace{{"iommu/map"}};
            ASSERT_EQ(rte_dev_dma_map(port.device, memory, begin, length), 0);
            as_they_come = pieces_in(trace.lines(), begin, begin + length).size();
            EXPECT_EQ(as_they_come,
                      pieces_of(begin, read_frames(memory, length, PageShift::of(2_MiB)).addresses).size());
            EXPECT_EQ(rte_dev_dma_unmap(port.device, memory, begin, length), 0);
        }
        EXPECT_EQ(rte_extmem_unregister(memory, length), 0);
        ::munmap(memory, length);

        const Arena arena = Arena::build("data", {.size = length});
        EXPECT_LT(pieces_of(0, arena.windows()[0].frames()).size() * 10, as_they_come);
    });
}

} // namespace mrz::test
