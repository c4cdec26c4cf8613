// SPDX-License-Identifier: BSD-3-Clause
#include <mrzone/hugepage.hpp>

#include "support/footprint.hpp"
#include "support/in_child.hpp"
#include "support/pool_guard.hpp"
#include "support/require.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

namespace mrz::test {
namespace {

class Attach : public testing::Test {
  protected:
    void SetUp() override { MRZ_REQUIRE(geteuid() == 0, "needs root, to change a pool"); }
};

//! Copies of a window's descriptors, as another process would have been sent them.
std::vector<FileDescriptor> copies(const Window& window, int flag = F_DUPFD_CLOEXEC)
{
    std::vector<FileDescriptor> files;
    for (const FileDescriptor& file : window.files())
        files.emplace_back(fcntl(file.get(), flag, 3));
    return files;
}

void number_pages(const Window& window)
{
    for (std::size_t page = 0; page < window.length() / 2_MiB; ++page)
        window.address()[page * 2_MiB] = std::byte(page + 1);
}

TEST_F(Attach, AnotherProgramSeesTheSameBytesAtTheSameAddress)
{
    const char* const program = std::getenv("MRZ_ATTACH_PEER");
    MRZ_REQUIRE(program != nullptr,
                "MRZ_ATTACH_PEER does not name the program attach_peer; run it through meson test");
    const PoolGuard guard{2_MiB, 80};
    scramble_pool(2_MiB); // many pieces
    const Window window = Window::build({.size = 62_MiB, .threads = 2});
    number_pages(window);
    {
        std::string names;
        const std::vector<FileDescriptor> files = copies(window, F_DUPFD); // survive the exec
        for (const FileDescriptor& file : files)
            names += std::to_string(file.get()) + ' ';
        std::vector<std::string> arguments{program, std::to_string(window.map().address),
                                           std::to_string(window.map().length),
                                           std::to_string(window.map().page_size)};
        for (const WindowMap::Piece& piece : window.map().pieces)
            for (const std::size_t number : {piece.offset, piece.length, piece.file, piece.file_offset})
                arguments.push_back(std::to_string(number));
        in_child([&] {
            setenv("MRZ_FILES", names.c_str(), 1);
            std::vector<char*> argv;
            for (std::string& argument : arguments)
                argv.push_back(argument.data());
            argv.push_back(nullptr);
            execv(program, argv.data());
            FAIL() << "exec: " << errno;
        });
    }
    for (std::size_t page = 0; page < 32; ++page)
        EXPECT_EQ(window.address()[page * 2_MiB], ~std::byte(page + 1));
    EXPECT_EQ(guard.free(), 80U - 32) << "the peer's end takes no page away";
}

TEST_F(Attach, AnAddressThatIsTakenIsBusyAndWhatIsThereStays)
{
    const PoolGuard guard{2_MiB, 32};
    const Window window = Window::build({.size = 20_MiB});
    number_pages(window);
    const Footprint before = Footprint::now();
    try {
        Window::attach(window.map(), copies(window));
        FAIL() << "no error";
    } catch (const Error& error) {
        EXPECT_EQ(error.error_number(), EEXIST);
        EXPECT_EQ(error.cause().trouble, Trouble::busy);
    }
    EXPECT_EQ(window.address()[20_MiB], std::byte{11});
    EXPECT_EQ(Footprint::now(), before);
}

TEST_F(Attach, InAProcessThatHasAReservationThereTheAddressesAreClaimedFromIt)
{
    const PoolGuard guard{2_MiB, 32};
    auto window = std::make_unique<Window>(Window::build({.size = 20_MiB}));
    number_pages(*window);
    in_child([&] {
        const WindowMap map = window->map();
        std::vector<FileDescriptor> files = copies(*window);
        const std::vector<DmaAddress> frames{window->frames().begin(), window->frames().end()};
        window.reset(); // the child's copy: the addresses are free here now
        {
            const Window attached = Window::attach(map, std::move(files));
            EXPECT_EQ(reinterpret_cast<std::uintptr_t>(attached.address()), map.address);
            EXPECT_EQ(attached.address()[20_MiB], std::byte{11});
            EXPECT_TRUE(attached.frames_known());
            EXPECT_TRUE(std::equal(frames.begin(), frames.end(), attached.frames().begin(), attached.frames().end()));
            attached.address()[20_MiB] = std::byte{99};
            // No window of its own may come to lie over it.
            const Window own = Window::build({.size = 20_MiB, .surplus = Surplus::exact()});
            EXPECT_TRUE(own.address() + own.length() <= attached.address() ||
                        attached.address() + attached.length() <= own.address());
        }
        EXPECT_EQ(guard.free(), 32U - 11);
    });
    EXPECT_EQ(window->address()[20_MiB], std::byte{99});
}

} // namespace
} // namespace mrz::test
