// SPDX-License-Identifier: BSD-3-Clause
#include "made_up_root.hpp"

#include <sys/mman.h>
#include <unistd.h>

using namespace mrz::host;

using HostMappings = Host;

TEST_F(HostMappings, AreCountedByLinesWhateverTheirLength)
{
    std::string maps;
    for (int i = 0; i < 5000; ++i)
        maps += "7f0000000000-7f0000001000 rw-p 00000000 00:00 0 /" +
                std::string(static_cast<std::size_t>(i % 300), 'x') + "\n";
    files.write("/proc/self/maps", maps);
    files.write("/proc/sys/vm/max_map_count", "65530\n");
    EXPECT_EQ(mappings(root).used, 5000u);
    EXPECT_EQ(mappings(root).max, Limit::of(65530));
}

TEST_F(HostMappings, DoNotIncludeTheKernelsOwn)
{
    files.write("/proc/self/maps", "7f0000000000-7f0000001000 rw-p 00000000 00:00 0 [stack]\n"
                                   "ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0 [vsyscall]\n");
    EXPECT_EQ(mappings(root).used, 1u);
}

TEST_F(HostMappings, AreUnknownWhereTheyCannotBeRead)
{
    files.write("/proc/sys/vm/max_map_count", "many\n");
    EXPECT_EQ(mappings(root).used, std::nullopt);
    EXPECT_TRUE(mappings(root).max.is_unknown());
}

TEST(HostMappingsOfThisProcess, GrowByOneForEachMapping)
{
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    // A reservation whose every second page differs: 100 pages are 100 mappings in place of one.
    void* const reserved = mmap(nullptr, 100 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(reserved, MAP_FAILED);
    const auto before = mappings().used;
    for (std::size_t i = 1; i < 99; i += 2)
        ASSERT_EQ(mprotect(static_cast<std::byte*>(reserved) + i * page, page, PROT_READ), 0);
    const auto after = mappings().used;
    munmap(reserved, 100 * page);
    ASSERT_TRUE(before && after);
    // Neighbours of the reservation may have been merged with its first or last page.
    EXPECT_GE(*after - *before, 97u);
    EXPECT_LE(*after - *before, 99u);
}
