// SPDX-License-Identifier: BSD-3-Clause
#include <mrzone/hugepage.hpp>

#include <gtest/gtest.h>

#include <cerrno>
#include <functional>

#include <fcntl.h>

namespace mrz {
namespace {

int errno_of_attach(const std::function<void(WindowMap&)>& spoil)
{
    WindowMap map{.address = 0x7000000000 - Window::header_size,
                  .length = 8_MiB,
                  .header_length = Window::header_size,
                  .page_size = 2_MiB,
                  .node = {},
                  .pieces = {{.offset = 0, .length = 8_MiB, .file = 0, .file_offset = 0}}};
    spoil(map);
    std::vector<FileDescriptor> files;
    files.emplace_back(open("/dev/zero", O_RDWR | O_CLOEXEC));
    try {
        Window::attach(map, std::move(files));
    } catch (const Error& error) {
        return error.error_number();
    }
    return 0;
}

TEST(WindowAttach, AFileThatDoesNotHoldTheWholePieceIsRefusedRatherThanMapped)
{
    EXPECT_EQ(errno_of_attach([](WindowMap&) {}), EINVAL);
}

TEST(WindowAttach, AMapThatContradictsItselfIsRefused)
{
    EXPECT_EQ(errno_of_attach([](WindowMap& map) { map.page_size = 0; }), EINVAL);
    EXPECT_EQ(errno_of_attach([](WindowMap& map) { map.header_length = 0; }), EINVAL);
    EXPECT_EQ(errno_of_attach([](WindowMap& map) { map.length = map.header_length; }), EINVAL);
    EXPECT_EQ(errno_of_attach([](WindowMap& map) { map.address += 4_KiB; }), EINVAL);
    EXPECT_EQ(errno_of_attach([](WindowMap& map) { map.address = ~std::uintptr_t{0} << 21; }), EINVAL);
    EXPECT_EQ(errno_of_attach([](WindowMap& map) { map.pieces.clear(); }), EINVAL);
    EXPECT_EQ(errno_of_attach([](WindowMap& map) { map.pieces[0].file = 1; }), EINVAL);
    EXPECT_EQ(errno_of_attach([](WindowMap& map) { map.pieces[0].offset = 2_MiB; }), EINVAL);
    EXPECT_EQ(errno_of_attach([](WindowMap& map) { map.pieces[0].length = ~std::size_t{0} << 21; }), EINVAL);
}

TEST(WindowBuild, ImpossibleRequestsAreRefusedByTheRealMachineToo)
{
    const auto errno_of = [](const WindowOptions& options) {
        try {
            Window::build(options);
        } catch (const Error& error) {
            return error.error_number();
        }
        return 0;
    };
    if (hugepage_sizes().empty())
        GTEST_SKIP() << "a kernel without hugepages";
    EXPECT_EQ(errno_of({.size = 0}), EINVAL);
    EXPECT_EQ(errno_of({.size = 1}), EINVAL);
    EXPECT_EQ(errno_of({.size = 1024_TiB}), ENOMEM);
    EXPECT_EQ(errno_of({.size = 64_MiB, .page_size = 32_MiB}), EINVAL);
    EXPECT_EQ(errno_of({.size = 2_MiB, .threads = 100}), EINVAL);
    EXPECT_EQ(errno_of({.size = 2_MiB, .node = 9999}), ENOENT);
}

} // namespace
} // namespace mrz
