// SPDX-License-Identifier: BSD-3-Clause
#include <mrzone/base.hpp>

#include <gtest/gtest.h>

#include <type_traits>

using namespace mrz;

TEST(Words, SizesAreBytes)
{
    EXPECT_EQ(4_KiB, 4096u);
    EXPECT_EQ(2_MiB, std::size_t{1} << 21);
    EXPECT_EQ(1_GiB, std::size_t{1} << 30);
    EXPECT_EQ(4_TiB, std::size_t{1} << 42);
}

TEST(Words, APageShiftHoldsOnlyPageSizes)
{
    EXPECT_EQ(PageShift::of(2_MiB).value(), 21u);
    EXPECT_EQ(PageShift{30}.bytes(), 1_GiB);
    EXPECT_THROW(PageShift{11}, std::out_of_range);
    EXPECT_THROW(PageShift{64}, std::out_of_range);
    EXPECT_THROW(PageShift::of(3_MiB), std::out_of_range);
    EXPECT_THROW(PageShift::of(0), std::out_of_range);
}

template <class A, class B>
concept subtractable = requires(A a, B b)
{
    a - b;
};

TEST(Words, AddressSpacesAndKeysDoNotMix)
{
    EXPECT_EQ((DmaAddress{0x1000} + 0x10).value(), 0x1010u);
    EXPECT_EQ(Iova{0x1010} - Iova{0x1000}, 0x10u);
    static_assert(subtractable<Iova, Iova>);
    static_assert(!subtractable<Iova, DmaAddress>);
    static_assert(!std::is_convertible_v<DmaAddress, Iova>);
    static_assert(!std::is_constructible_v<Iova, DmaAddress>);
    static_assert(!std::is_convertible_v<std::uint64_t, DmaAddress>);
    static_assert(!std::is_convertible_v<LKey, RKey>);
    static_assert(!std::is_convertible_v<LKey, std::uint32_t>);
}

TEST(Words, RightsAreASet)
{
    const Access both = Access::local_write | Access::remote_read;
    EXPECT_TRUE(grants(both, Access::remote_read));
    EXPECT_TRUE(grants(both, Access::local_read)) << "implied by all";
    EXPECT_FALSE(grants(both, Access::remote_read | Access::remote_write));
}

TEST(Words, SizesReadWell)
{
    EXPECT_EQ(format_size(0), "0 B");
    EXPECT_EQ(format_size(1023), "1023 B");
    EXPECT_EQ(format_size(2_MiB), "2 MiB");
    EXPECT_EQ(format_size(1_GiB + 512_MiB), "1.5 GiB");
    EXPECT_EQ(format_size(~std::uint64_t{0}), "16 EiB");
    EXPECT_EQ(format_hex(0), "0x0");
    EXPECT_EQ(format_hex(0xdeadbeef), "0xdeadbeef");
}
