// SPDX-License-Identifier: BSD-3-Clause
#include "made_up_root.hpp"

#include <fstream>
#include <iterator>
#include <string>
#include <sys/mman.h>
#include <unistd.h>

using namespace mrz::host;

namespace {

const void* at(std::uintptr_t address)
{
    return reinterpret_cast<const void*>(address);
}

} // namespace

using HostMappedMemory = Host;

TEST_F(HostMappedMemory, IsWhatTheRangeTouchesWithItsRightsAndName)
{
    files.write("/proc/self/maps", "00400000-00401000 r-xp 00000000 fe:00 12   /bin/a program\n"
                                   "00401000-00402000 rw-p 00000000 00:00 0 \n"
                                   "00402000-00403000 r--s 00001000 fe:00 13   /data (deleted)\n"
                                   "7ffd00000000-7ffd00021000 rw-p 00000000 00:00 0   [stack]\n");
    const auto two = mapped_memory(at(0x400fff), 2, root);
    ASSERT_TRUE(two.has_value());
    ASSERT_EQ(two->size(), 2u);
    EXPECT_EQ(two->at(0).name, "/bin/a program");
    EXPECT_TRUE(two->at(0).readable);
    EXPECT_FALSE(two->at(0).writable);
    EXPECT_EQ(two->at(1).name, "");
    EXPECT_TRUE(two->at(1).writable);
    EXPECT_FALSE(two->at(1).shared);
    EXPECT_EQ(two->at(1).begin, 0x401000u);
    EXPECT_EQ(two->at(1).end, 0x402000u);

    const auto shared = mapped_memory(at(0x402000), 0x1000, root);
    ASSERT_EQ(shared->size(), 1u);
    EXPECT_TRUE(shared->front().shared);
    EXPECT_EQ(shared->front().name, "/data (deleted)");
    EXPECT_TRUE(mapped_memory(at(0x403000), 0x1000, root)->empty());
    EXPECT_TRUE(mapped_memory(at(0x400000), 0, root)->empty());
    EXPECT_EQ(mapped_memory(at(0x7ffd00000000), ~std::size_t{0}, root)->size(), 1u);
}

TEST_F(HostMappedMemory, LeavesOutLinesThatAreNoMappings)
{
    files.write("/proc/self/maps", "junk\n1-2\n400000-zz rw-p 0 0 0\n400000 rw-p 0 0:0 0\n400000-401000 r 0 0:0 0\n"
                                   "400000-401000 rw-p 0 0:0 0");
    EXPECT_EQ(mapped_memory(at(0x400000), 1, root)->size(), 1u);
}

TEST_F(HostMappedMemory, IsUnknownWhereItCannotBeRead)
{
    EXPECT_EQ(mapped_memory(at(0x400000), 1, root), std::nullopt);
}

using HostHugepageMappings = Host;

TEST_F(HostHugepageMappings, AreThoseWhosePagesTheKernelSaysAreLarge)
{
    files.write("/proc/17/smaps", "00400000-00401000 r-xp 00000000 fe:00 12   /bin/a program\n"
                                  "Size:                  4 kB\n"
                                  "KernelPageSize:        4 kB\n"
                                  "MMUPageSize:           4 kB\n"
                                  "VmFlags: rd ex mr mw me \n"
                                  "40000000-40400000 rw-s 00000000 00:10 13   /dev/hugepages/a file\n"
                                  "Size:               4096 kB\n"
                                  "KernelPageSize:     2048 kB\n"
                                  "VmFlags: rd wr sh mr mw me ms de ht \n"
                                  "80000000-c0000000 rw-p 00000000 00:10 14   /anon_hugepage (deleted)\n"
                                  "KernelPageSize:  1048576 kB\n"
                                  "c0000000-c0001000 rw-p 00000000 00:00 0 \n"
                                  "KernelPageSize:     junk\n");
    const auto found = hugepage_mappings(17, root);
    ASSERT_TRUE(found.has_value());
    ASSERT_EQ(found->size(), 2u);
    EXPECT_EQ(found->at(0).begin, 0x40000000u);
    EXPECT_EQ(found->at(0).end, 0x40400000u);
    EXPECT_EQ(found->at(0).page_size, 2u << 20);
    EXPECT_EQ(found->at(0).name, "/dev/hugepages/a file");
    EXPECT_TRUE(found->at(0).shared);
    EXPECT_EQ(found->at(1).page_size, 1u << 30);
    EXPECT_EQ(hugepage_mappings(18, root), std::nullopt);
}

TEST_F(HostHugepageMappings, AreNoneOfAProcessWithoutMemory)
{
    files.write("/proc/17/smaps", "");
    EXPECT_TRUE(hugepage_mappings(17, root)->empty());
}

// Kernels that answer questions about single mappings must say what the text says.
TEST(HostMappedMemoryOfThisProcess, IsTheSameAsInTheText)
{
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    const int file = memfd_create("a name", MFD_CLOEXEC);
    ASSERT_EQ(ftruncate(file, static_cast<off_t>(page)), 0);
    // With pages around it that merge with nothing else.
    void* const mapped = mmap(nullptr, 7 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(mapped, MAP_FAILED);
    auto* const memory = static_cast<std::byte*>(mapped) + page;
    ASSERT_EQ(mprotect(memory, 5 * page, PROT_READ | PROT_WRITE), 0);
    ASSERT_NE(mmap(memory + page, page, PROT_READ, MAP_SHARED | MAP_FIXED, file, 0), MAP_FAILED);
    ASSERT_EQ(munmap(memory + 2 * page, page), 0);
    ASSERT_EQ(mprotect(memory + 4 * page, page, PROT_READ), 0);
    std::ifstream maps{"/proc/self/maps"};
    const std::string text{std::istreambuf_iterator<char>{maps}, {}};
    MadeUpRoot files; // where an ordinary file answers no questions
    files.write("/proc/self/maps", text);
    const auto asked = mapped_memory(memory + 1, 5 * page - 2);
    const auto read = mapped_memory(memory + 1, 5 * page - 2, files.root());
    munmap(mapped, 7 * page);
    close(file);
    ASSERT_TRUE(asked && read);
    ASSERT_EQ(asked->size(), read->size());
    ASSERT_EQ(asked->size(), 4u);
    for (std::size_t i = 0; i < asked->size(); ++i) {
        const MappedMemory& one = asked->at(i);
        const MappedMemory& other = read->at(i);
        EXPECT_EQ(one.begin, other.begin);
        EXPECT_EQ(one.end, other.end);
        EXPECT_EQ(one.readable, other.readable);
        EXPECT_EQ(one.writable, other.writable);
        EXPECT_EQ(one.shared, other.shared);
        EXPECT_EQ(one.name, other.name);
        EXPECT_EQ(one.page_size, page);
    }
    EXPECT_EQ(asked->at(1).name, "/memfd:a name (deleted)");
}

TEST(HostMappedMemoryOfThisProcess, IsFoundAroundSeveralInAnyOrder)
{
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    void* const three = ::mmap(nullptr, 3 * page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(three, MAP_FAILED);
    auto* const bytes = static_cast<std::byte*>(three);
    ASSERT_EQ(::mprotect(bytes + page, page, PROT_NONE), 0); // three mappings
    const std::span<std::byte> ends[] = {{bytes + 2 * page, 1}, {bytes + page - 1, 1}};
    const auto found = mapped_memory_around(std::span<const std::span<std::byte>>{ends});
    ASSERT_TRUE(found.has_value());
    ASSERT_EQ(found->size(), 3u);
    EXPECT_LE(found->front().begin, reinterpret_cast<std::uintptr_t>(bytes));
    EXPECT_GE(found->back().end, reinterpret_cast<std::uintptr_t>(bytes) + 3 * page);
    EXPECT_TRUE(mapped_memory_around(std::span<const std::span<std::byte>>{})->empty());
    ::munmap(three, 3 * page);
}

TEST(HostMappedMemoryOfThisProcess, IsSeenAsItIs)
{
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    void* const memory = mmap(nullptr, 3 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(memory, MAP_FAILED);
    auto* const middle = static_cast<std::byte*>(memory) + page;
    ASSERT_EQ(mprotect(middle, page, PROT_READ), 0);
    const auto found = mapped_memory(middle, page);
    const auto all = mapped_memory(memory, 3 * page);
    munmap(memory, 3 * page);
    ASSERT_TRUE(found && all);
    ASSERT_EQ(found->size(), 1u);
    EXPECT_FALSE(found->front().writable);
    EXPECT_EQ(found->front().page_size, page);
    EXPECT_EQ(all->size(), 3u);
}
