// SPDX-License-Identifier: BSD-3-Clause
#include <mrzone/device.hpp>
#include <mrzone/frames.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>

#include <sys/mman.h>
#include <unistd.h>

namespace mrz {
namespace {

using testing::HasSubstr;

class DeviceMemoryLayout : public testing::Test {
  protected:
    static constexpr std::size_t count = 8;
    void SetUp() override
    {
        if (page != 4_KiB)
            GTEST_SKIP() << "written for base pages of 4 KiB";
        void* const memory = mmap(nullptr, count * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        ASSERT_NE(memory, MAP_FAILED);
        bytes = {static_cast<std::byte*>(memory), count * page};
        ASSERT_EQ(madvise(memory, bytes.size(), MADV_NOHUGEPAGE), 0);
        for (std::size_t i = 0; i < count; ++i)
            bytes[i * page] = std::byte{1};
    }
    void TearDown() override { munmap(bytes.data(), bytes.size()); }

    static Error refusal(std::span<const std::byte> memory, DmaView view)
    {
        try {
            static_cast<void>(read_layout(memory, view));
        } catch (const Error& error) {
            return error;
        }
        return Error{1, {.what = "no error", .limit = {}, .remedy = {}}};
    }

    std::size_t page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    std::span<std::byte> bytes;
};

TEST_F(DeviceMemoryLayout, OfFramesIsTheFramesWithThePlaceInThePage)
{
    const std::span<const std::byte> part = bytes.subspan(100, 3 * page);
    const Frames frames = read_frames(bytes.data(), 4 * page, PageShift{12});
    const std::optional<Layout> layout = read_layout(part, DmaView::frames);
    if (frames.hidden) {
        EXPECT_FALSE(layout.has_value());
        return;
    }
    Layout expected;
    expected.append(frames.addresses[0] + 100, page - 100);
    expected.append(frames.addresses[1], page);
    expected.append(frames.addresses[2], page);
    expected.append(frames.addresses[3], 100);
    ASSERT_TRUE(layout.has_value());
    EXPECT_TRUE(std::ranges::equal(layout->extents(), expected.extents()));
}

TEST_F(DeviceMemoryLayout, OfVirtualAddressesIsOneExtent)
{
    const std::optional<Layout> layout = read_layout(bytes.subspan(7, 9000), DmaView::virtual_addresses);
    ASSERT_TRUE(layout.has_value());
    ASSERT_EQ(layout->extents().size(), 1u);
    EXPECT_EQ(layout->extents()[0].dma.value(), reinterpret_cast<std::uintptr_t>(bytes.data()) + 7);
    EXPECT_EQ(layout->length(), 9000u);
}

TEST_F(DeviceMemoryLayout, OfUnknownFramesPromisesNothingButPages)
{
    const std::optional<Layout> layout = read_layout(bytes.subspan(100, 4 * page), DmaView::unknown);
    ASSERT_TRUE(layout.has_value());
    ASSERT_EQ(layout->extents().size(), 5u);
    EXPECT_EQ(layout->length(), 4 * page);
    EXPECT_EQ(layout->extents()[0].length, page - 100);
    EXPECT_EQ(layout->extents()[4].length, 100u);
    for (const Extent& extent : layout->extents()) {
        // As little as may be: the address agrees within the page, and not in the next bit.
        const auto address = reinterpret_cast<std::uintptr_t>(bytes.data()) + 100 + extent.offset;
        EXPECT_EQ((extent.dma.value() ^ address) & (2 * page - 1), page);
    }
    const Plan plan = make_plan(*layout, Iova{reinterpret_cast<std::uintptr_t>(bytes.data()) + 100}, Limits{});
    EXPECT_EQ(plan.mtt_entries(), 5u);
    EXPECT_EQ(refusal(bytes.subspan(0, 0), DmaView::unknown).error_number(), EINVAL);
}

TEST_F(DeviceMemoryLayout, CrossesMappingsThatTouch)
{
    ASSERT_EQ(mprotect(bytes.data() + page, page, PROT_READ), 0);
    EXPECT_EQ(read_layout(bytes, DmaView::virtual_addresses)->length(), bytes.size());
    const auto layout = read_layout(bytes, DmaView::frames);
    EXPECT_EQ(layout.value_or(*read_layout(bytes, DmaView::virtual_addresses)).length(), bytes.size());
}

TEST_F(DeviceMemoryLayout, RefusesAHoleNamingIt)
{
    ASSERT_EQ(munmap(bytes.data() + 2 * page, page), 0);
    for (const DmaView view : {DmaView::frames, DmaView::virtual_addresses}) {
        const Error error = refusal(bytes, view);
        EXPECT_EQ(error.error_number(), EFAULT);
        EXPECT_THAT(error.cause().limit,
                    HasSubstr(format_hex(reinterpret_cast<std::uintptr_t>(bytes.data() + 2 * page))));
        EXPECT_EQ(refusal(bytes.subspan(2 * page, 10), view).error_number(), EFAULT);
        EXPECT_NO_THROW(static_cast<void>(read_layout(bytes.subspan(0, 2 * page), view)));
        EXPECT_EQ(refusal(bytes.subspan(0, 2 * page + 1), view).error_number(), EFAULT);
    }
}

TEST_F(DeviceMemoryLayout, RefusesNoBytesAndARangeThatWraps)
{
    EXPECT_EQ(refusal(bytes.subspan(0, 0), DmaView::virtual_addresses).error_number(), EINVAL);
    EXPECT_EQ(refusal({bytes.data(), ~std::size_t{0}}, DmaView::virtual_addresses).error_number(), EINVAL);
}

TEST_F(DeviceMemoryLayout, OfFramesRefusesPagesThatAreNotThere)
{
    ASSERT_EQ(madvise(bytes.data() + page, 2 * page, MADV_DONTNEED), 0);
    const Error error = refusal(bytes, DmaView::frames);
    if (error.error_number() == 1)
        GTEST_SKIP() << "this process may not open its pagemap";
    EXPECT_EQ(error.error_number(), EFAULT);
    EXPECT_THAT(error.cause().limit, HasSubstr("2 pages of 4 KiB are not present"));
    EXPECT_NO_THROW(static_cast<void>(read_layout(bytes, DmaView::virtual_addresses)));
}

} // namespace
} // namespace mrz
