// SPDX-License-Identifier: BSD-3-Clause
#include "dma/pages.hpp"
#include "dma/memory.hpp"

#include "support/refusal.hpp"
#include "unit/hca_app/shared_file.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cerrno>
#include <vector>

namespace mrz::dma {
namespace {

using test::refusal;
using test::SharedFile;

class Pages : public testing::Test {
  protected:
    Pages() { memory.map({.at = DmaAddress{0x10'0000}, .bytes = 0x1'0000}, file.fd(), 0); }

    SharedFile file{0x1'0000};
    Memory memory;
};

TEST_F(Pages, LieAnywhereAndInAnyOrder)
{
    const PageList list{{DmaAddress{0x10'3000}, DmaAddress{0x10'1000}}, 12, 0x40};
    EXPECT_EQ(list.bytes(), 0x1fc0u);
    EXPECT_EQ(list.address(0), DmaAddress{0x10'3040});
    EXPECT_EQ(list.address(0xfc0), DmaAddress{0x10'1000});
    EXPECT_EQ(list.address(0x1fbf), DmaAddress{0x10'1fff});
    EXPECT_EQ(list.address(0x1fc0), std::nullopt);

    std::array<std::byte, 4> four{std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4}};
    ASSERT_TRUE(list.write(memory, 0xfbe, four));
    EXPECT_EQ(file[0x3fff], std::byte{2});
    EXPECT_EQ(file[0x1000], std::byte{3});
    four = {};
    ASSERT_TRUE(list.read(memory, 0xfbe, four));
    EXPECT_EQ(four[3], std::byte{4});
}

TEST_F(Pages, EndWhereTheyEnd)
{
    const PageList list{{DmaAddress{0x10'0000}, DmaAddress{0x90'0000}}, 12, 0};
    std::array<std::byte, 2> two{};
    EXPECT_TRUE(list.read(memory, 0xffe, two));
    EXPECT_FALSE(list.read(memory, 0xfff, two)); // nothing answers at the second
    EXPECT_FALSE(list.write(memory, 0x1fff, two));
    EXPECT_FALSE(list.write(memory, ~std::uint64_t{0}, two));
    EXPECT_TRUE(list.write(memory, 0x2000, {}));
    EXPECT_EQ(PageList{}.bytes(), 0u);
    EXPECT_FALSE(PageList{}.read(memory, 0, two));
}

TEST_F(Pages, RefuseWhatIsNoRange)
{
    const auto refused = [](std::vector<DmaAddress> pages, unsigned shift, std::uint64_t offset) {
        return refusal([&] { const PageList list{pages, shift, offset}; }).error_number();
    };
    EXPECT_EQ(refused({DmaAddress{0}}, 64, 0), EINVAL);
    EXPECT_EQ(refused({DmaAddress{0}, DmaAddress{0}}, 63, 0), EINVAL);
    EXPECT_EQ(refused({DmaAddress{0}}, 12, 0x1000), EINVAL);
    EXPECT_EQ(refused({}, 12, 1), EINVAL);
    EXPECT_EQ((PageList{{DmaAddress{0}}, 63, 0}.bytes()), std::uint64_t{1} << 63);
}

} // namespace
} // namespace mrz::dma
