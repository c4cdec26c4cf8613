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
#include <limits>
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

//! The address of the first virtio network device on PCI, as "0000:00:10.0".
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

std::uint64_t number(const std::byte* address)
{
    return reinterpret_cast<std::uintptr_t>(address);
}

//! What the kernel mapped in a range, by iommu:map, where IOVAs are virtual addresses.
std::vector<Piece> pieces_in(const std::vector<std::string>& lines, const std::byte* address, std::size_t length)
{
    const std::uint64_t begin = number(address);
    std::vector<Piece> pieces;
    for (const std::string& line : lines) {
        Piece piece;
        std::uint64_t last = 0;
        const std::size_t at = line.find("iova=");
        if (line.find(" map: ") == std::string::npos || at == std::string::npos ||
            std::sscanf(line.c_str() + at, "iova=%lx - %lx paddr=%lx size=%lu", &piece.iova, &last, &piece.frame,
                        &piece.length) != 4)
            continue;
        if (piece.iova >= begin && piece.iova - begin < length)
            pieces.push_back(piece);
    }
    return pieces;
}

std::uint64_t unmapped_in(const std::vector<std::string>& lines, const std::byte* address, std::size_t length)
{
    const std::uint64_t begin = number(address);
    std::uint64_t bytes = 0;
    for (const std::string& line : lines) {
        std::uint64_t first = 0;
        std::uint64_t last = 0;
        const std::size_t at = line.find("iova=");
        if (line.find(" unmap: ") != std::string::npos && at != std::string::npos &&
            std::sscanf(line.c_str() + at, "iova=%lx - %lx", &first, &last) == 2 && first >= begin &&
            first < begin + length)
            bytes += last - first;
    }
    return bytes;
}

constexpr std::size_t size = 128_MiB;

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
        const Eal eal{{"--in-memory", "-a", port_, "-m", "8"}};
        ASSERT_EQ(rte_eth_dev_count_avail(), 1);
        ASSERT_EQ(rte_eal_iova_mode(), RTE_IOVA_VA);
        EXPECT_EQ(host::iommu(), host::Iommu::translating);
        scramble_pool(2_MiB);
        // DPDK maps memory of heaps for a port under VFIO when it becomes part of one.
        KernelTrace trace{{"iommu/map", "iommu/unmap"}};
        Arena arena = Arena::build("data", {.size = size, .surplus = Surplus::pool(0)});
        EXPECT_EQ(arena.map_for(0), PortMapping::mapped);
        EXPECT_EQ(arena.map_for(0), PortMapping::mapped);
        const Window& window = arena.windows()[0];
        ASSERT_TRUE(window.frames_known());
        const std::vector<Piece> planned = pieces_of(number(window.address()), window.frames());
        EXPECT_THAT(pieces_in(trace.lines(), window.address(), window.length()), ElementsAreArray(planned));
        // The block's and the header page's.
        EXPECT_LE(planned.size(), window.layout().extents().size() + 1);
        EXPECT_LT(planned.size(), size / 2_MiB / 4);

        // What is added later is known to the port as well.
        trace.clear();
        arena.grow(4_MiB);
        const Window& second = arena.windows()[1];
        EXPECT_THAT(pieces_in(trace.lines(), second.address(), second.length()),
                    ElementsAreArray(pieces_of(number(second.address()), second.frames())));

        // And nothing is left of it, nor said by DPDK.
        const std::byte* const begin = arena.windows()[0].address();
        const std::size_t length = arena.windows()[0].length();
        trace.clear();
        testing::internal::CaptureStderr();
        arena.close();
        EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
        EXPECT_EQ(unmapped_in(trace.lines(), begin, length), length);
    });
}

TEST_F(BehindAnIommu, AnArenaInModePaIsMappedWhereItLies)
{
    in_child([this] {
        const Eal eal{{"--in-memory", "-a", port_, "-m", "8", "--iova-mode=pa"}};
        scramble_pool(2_MiB);
        KernelTrace trace{{"iommu/map", "iommu/unmap"}};
        Arena arena = Arena::build("data", {.size = 16_MiB, .surplus = Surplus::pool(0)});
        EXPECT_EQ(arena.map_for(0), PortMapping::mapped);
        std::vector<Piece> planned = pieces_of(0, arena.windows()[0].frames());
        for (Piece& piece : planned)
            piece.iova = piece.frame;
        EXPECT_THAT(pieces_in(trace.lines(), nullptr, std::numeric_limits<std::size_t>::max()),
                    ElementsAreArray(planned));
        trace.clear();
        testing::internal::CaptureStderr();
        arena.close();
        EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
        EXPECT_EQ(unmapped_in(trace.lines(), nullptr, std::numeric_limits<std::size_t>::max()),
                  16_MiB + Window::header_size);
    });
}

TEST_F(BehindAnIommu, AnArenaIsKnownToAPortThatComesLater)
{
    in_child([this] {
        const Eal eal{{"--in-memory", "-a", "0000:00:1e.7", "-m", "8", "--iova-mode=va"}};
        Arena arena = Arena::build("data", {.size = 4_MiB});
        const Window& window = arena.windows()[0];
        const KernelTrace trace{{"iommu/map", "iommu/unmap"}};
        ASSERT_EQ(rte_dev_probe(port_.c_str()), 0);
        EXPECT_EQ(arena.map_for(0), PortMapping::mapped);
        EXPECT_EQ(arena.map_for(0), PortMapping::mapped);
        std::size_t known = 0;
        for (const Piece& piece : pieces_in(trace.lines(), window.address(), window.length()))
            known += piece.length;
        EXPECT_EQ(known, window.length());

        const std::byte* const begin = window.address();
        const std::size_t length = window.length();
        trace.clear();
        testing::internal::CaptureStderr();
        arena.close();
        EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
        EXPECT_EQ(unmapped_in(trace.lines(), begin, length), length);
    });
}

TEST_F(BehindAnIommu, AnArenaThatCannotBeClosedStaysMapped)
{
    in_child([this] {
        const Eal eal{{"--in-memory", "-a", port_, "-m", "8"}};
        Arena arena = Arena::build("data", {.size = 4_MiB});
        EXPECT_EQ(arena.map_for(0), PortMapping::mapped);
        void* const block = rte_malloc_socket("block", 1024, 64, arena.socket_id());
        ASSERT_NE(block, nullptr);
        const KernelTrace trace{{"iommu/map", "iommu/unmap"}};
        EXPECT_THROW(arena.close(), Error);
        const Window& window = arena.windows()[0];
        EXPECT_EQ(unmapped_in(trace.lines(), window.address(), window.length()), 0U);
        EXPECT_EQ(rte_malloc_virt2iova(block), number(static_cast<const std::byte*>(block)));
        rte_free(block);
        arena.close();
    });
}

TEST_F(BehindAnIommu, PagesAsTheyComeTakeMorePieces)
{
    in_child([this] {
        const Eal eal{{"--in-memory", "-a", port_, "-m", "8"}};
        scramble_pool(2_MiB);
        auto* const memory = static_cast<std::byte*>(::mmap(
            nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | MAP_POPULATE, -1, 0));
        ASSERT_NE(memory, MAP_FAILED);
        rte_eth_dev_info port{};
        ASSERT_EQ(rte_eth_dev_info_get(0, &port), 0);
        ASSERT_EQ(rte_extmem_register(memory, size, nullptr, 0, 2_MiB), 0);
        std::size_t as_they_come = 0;
        {
            const KernelTrace trace{{"iommu/map"}};
            ASSERT_EQ(rte_dev_dma_map(port.device, memory, number(memory), size), 0);
            as_they_come = pieces_in(trace.lines(), memory, size).size();
            const Frames frames = read_frames(memory, size, PageShift::of(2_MiB));
            EXPECT_EQ(as_they_come, pieces_of(number(memory), frames.addresses).size());
            EXPECT_EQ(rte_dev_dma_unmap(port.device, memory, number(memory), size), 0);
        }
        EXPECT_EQ(rte_extmem_unregister(memory, size), 0);
        ::munmap(memory, size);

        Arena arena = Arena::build("data", {.size = size, .surplus = Surplus::pool(0)});
        const std::size_t planned = pieces_of(0, arena.windows()[0].frames()).size();
        EXPECT_LT(planned * 2, as_they_come) << planned;
        arena.close();
    });
}

} // namespace mrz::test
