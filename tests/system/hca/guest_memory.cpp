// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! A guest's memory of hugepages, as mrz-hca maps it.
#include "dma/memory.hpp"

#include "support/pool_guard.hpp"
#include "support/require.hpp"

#include <mrzone/file_descriptor.hpp>

#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <string_view>

#include <fcntl.h>
#include <linux/memfd.h>
#include <sys/mman.h>
#include <unistd.h>

namespace mrz::dma {
namespace {

using namespace mrz::literals;

std::size_t mappings_of(std::string_view name)
{
    std::ifstream maps{"/proc/self/maps"};
    std::size_t count = 0;
    for (std::string line; std::getline(maps, line);)
        count += line.find(name) != std::string::npos ? 1 : 0;
    return count;
}

TEST(GuestMemoryOfHugepages, IsGivenBackWholeWhereOnlyAPartIsMapped)
{
    MRZ_REQUIRE(geteuid() == 0, "changing page pools needs root");
    const test::PoolGuard pool{2_MiB, 2};
    const FileDescriptor huge{
        ::memfd_create("mrz-huge", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_HUGETLB | MFD_HUGE_2MB)};
    ASSERT_TRUE(huge.valid());
    ASSERT_EQ(::ftruncate(huge.get(), 4_MiB), 0);
    ASSERT_EQ(::fcntl(huge.get(), F_ADD_SEALS, F_SEAL_SHRINK), 0);
    Memory memory;
    const auto map_part = [&](std::uint64_t offset, std::uint64_t bytes) {
        memory.exclusively([&] {
            memory.map({.at = DmaAddress{offset}, .bytes = bytes, .readable = true, .writable = true}, huge.get(),
                       offset);
        });
    };
    map_part(0, 0xa0000); // as below the VGA's memory
    map_part(0xc0000, 2_MiB);
    EXPECT_EQ(mappings_of("mrz-huge"), 2U);
    memory.exclusively([&] { memory.unmap(DmaAddress{0}, 0xa0000); });
    EXPECT_EQ(mappings_of("mrz-huge"), 1U);
    memory.exclusively([&] { memory.unmap_all(); });
    EXPECT_EQ(mappings_of("mrz-huge"), 0U);
}

} // namespace
} // namespace mrz::dma
