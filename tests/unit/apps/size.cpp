// SPDX-License-Identifier: BSD-3-Clause
#include "common/size.hpp"

#include <mrzone/base.hpp>

#include <gtest/gtest.h>

#include <cerrno>

namespace mrz::app {
namespace {

using namespace mrz::literals;

TEST(Size, ReadsUnitsAsPowersOf1024)
{
    EXPECT_EQ(parse_size("1G", ""), 1_GiB);
    EXPECT_EQ(parse_size("2m", ""), 2_MiB);
    EXPECT_EQ(parse_size("512MiB", ""), 512_MiB);
    EXPECT_EQ(parse_size("64 kb", ""), 64_KiB);
    EXPECT_EQ(parse_size("4096", ""), 4096U);
    EXPECT_EQ(parse_size("0", ""), 0U);
    EXPECT_EQ(parse_size("18446744073709551615", ""), ~std::size_t{0});
}

TEST(Size, TakesLeadingZerosForDecimal)
{
    EXPECT_EQ(parse_size("010", ""), 10U);
    EXPECT_EQ(parse_size("010K", ""), 10_KiB);
}

TEST(Size, RefusesWhatIsNoSizeAndNamesIt)
{
    for (const char* const text : {"", "G", "-1", "+1", "0x10", "1.5G", "1Q", "1G1", " 1G", "16E", "17179869184G",
                                   "18446744073709551616", "99999999999999999999K"})
        try {
            parse_size(text, "the size");
            ADD_FAILURE() << text;
        } catch (const Error& error) {
            EXPECT_EQ(error.cause().trouble, Trouble::invalid) << text;
            EXPECT_EQ(error.cause().what, std::string{"the size \""} + text + "\"");
        }
}

TEST(Size, SaysThatAUnitIsNoneRatherThanThatTheSizeIsTooLarge)
{
    for (const char* const text : {"0x10", "1G1"})
        try {
            parse_size(text, "the size");
            ADD_FAILURE() << text;
        } catch (const Error& error) {
            EXPECT_EQ(error.error_number(), EINVAL) << error.what();
        }
}

TEST(Size, WritesWhatItReads)
{
    for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, 4_KiB, 1026_MiB, 1_GiB, 3_TiB, 2048_TiB})
        EXPECT_EQ(parse_size(size_argument(bytes), ""), bytes);
    EXPECT_EQ(size_argument(1026_MiB), "1026M");
    EXPECT_EQ(size_argument(1_GiB), "1G");
}

} // namespace
} // namespace mrz::app
