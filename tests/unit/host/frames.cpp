// SPDX-License-Identifier: BSD-3-Clause
#include <mrzone/file_descriptor.hpp>
#include <mrzone/frames.hpp>

#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

namespace mrz {
namespace {

//! Small pages: what is said of them holds for large ones, and they need no pool.
class SmallPages : public testing::Test {
  protected:
    static constexpr std::size_t count = 8;
    void SetUp() override
    {
        if (page != 4_KiB)
            GTEST_SKIP() << "written for base pages of 4 KiB";
        memory = mmap(nullptr, count * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        ASSERT_NE(memory, MAP_FAILED);
        ASSERT_EQ(madvise(memory, count * page, MADV_NOHUGEPAGE), 0);
    }
    void TearDown() override { munmap(memory, count * page); }
    void touch(std::size_t index) { static_cast<volatile char*>(memory)[index * page] = 1; }

    std::size_t page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    void* memory = MAP_FAILED;
};

TEST_F(SmallPages, ThoseNeverTouchedAreAbsentWhichIsNotHidden)
{
    const Frames frames = read_frames(memory, count * page, PageShift{12});
    EXPECT_EQ(frames.absent_pages, count);
    EXPECT_FALSE(frames.hidden);
    EXPECT_FALSE(frames.complete());
    ASSERT_EQ(frames.addresses.size(), count);
    EXPECT_EQ(frames.addresses[0], Frames::absent);
}

TEST_F(SmallPages, ThoseThatArePresentAreKnownOrHiddenButNeverHalf)
{
    touch(2);
    touch(5);
    const Frames frames = read_frames(memory, count * page, PageShift{12});
    EXPECT_EQ(frames.absent_pages, count - 2);
    if (frames.hidden) {
        EXPECT_TRUE(frames.addresses.empty());
    } else {
        ASSERT_EQ(frames.addresses.size(), count);
        EXPECT_EQ(frames.addresses[0], Frames::absent);
        EXPECT_NE(frames.addresses[2], Frames::absent);
        EXPECT_NE(frames.addresses[5], frames.addresses[2]);
        EXPECT_EQ(frames.addresses[2].value() % page, 0U);
    }
    EXPECT_FALSE(frames.complete());
}

TEST_F(SmallPages, OneEntryALargePageIsTheFirstOfIt)
{
    for (std::size_t i = 0; i < count; ++i)
        touch(i);
    auto* const aligned = reinterpret_cast<std::byte*>((reinterpret_cast<std::uintptr_t>(memory) + page) & ~page);
    const Frames each = read_frames(aligned, 4 * page, PageShift{12});
    const Frames every_second = read_frames(aligned, 4 * page, PageShift{13});
    if (each.hidden) {
        EXPECT_TRUE(every_second.hidden);
        return;
    }
    ASSERT_EQ(every_second.addresses.size(), 2U);
    EXPECT_EQ(every_second.addresses[0], each.addresses[0]);
    EXPECT_EQ(every_second.addresses[1], each.addresses[2]);
}

TEST_F(SmallPages, ARangeThatIsNotWholePagesIsRefused)
{
    const auto* const bytes = static_cast<const std::byte*>(memory);
    EXPECT_THROW(read_frames(bytes + 8, page, PageShift{12}), Error);
    EXPECT_THROW(read_frames(bytes, page + 8, PageShift{12}), Error);
}

TEST_F(SmallPages, AreTheSameSeenAsAnotherProcesss)
{
    touch(3);
    const Frames own = read_frames(memory, count * page, PageShift{12});
    const Frames others =
        read_frames_of(getpid(), reinterpret_cast<std::uintptr_t>(memory), count * page, PageShift{12});
    EXPECT_EQ(others.addresses, own.addresses);
    EXPECT_EQ(others.hidden, own.hidden);
    EXPECT_EQ(others.absent_pages, own.absent_pages);
}

TEST_F(SmallPages, OfAProcessThatIsGoneAreAnError)
{
    const pid_t gone = fork();
    if (gone == 0)
        _exit(0);
    const auto address = reinterpret_cast<std::uintptr_t>(memory);
    const auto error_of = [&] {
        try {
            read_frames_of(gone, address, page, PageShift{12});
        } catch (const Error& error) {
            return error.error_number();
        }
        return 0;
    };
    siginfo_t ended{};
    ASSERT_EQ(waitid(P_PID, static_cast<id_t>(gone), &ended, WEXITED | WNOWAIT), 0);
    EXPECT_EQ(error_of(), ESRCH) << "a zombie has no memory";
    ASSERT_EQ(waitpid(gone, nullptr, 0), gone);
    EXPECT_EQ(error_of(), ESRCH);
}

TEST(FileDescriptor, ClosesItsFileOnceWhoeverOwnsItLast)
{
    const int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    ASSERT_GE(fd, 0);
    {
        FileDescriptor first{fd};
        FileDescriptor second{std::move(first)};
        FileDescriptor third;
        third = std::move(second);
        EXPECT_EQ(third.get(), fd);
        EXPECT_EQ(fcntl(fd, F_GETFD), FD_CLOEXEC);
    }
    EXPECT_EQ(fcntl(fd, F_GETFD), -1);
    EXPECT_EQ(errno, EBADF);
}

} // namespace
} // namespace mrz
