// SPDX-License-Identifier: BSD-3-Clause
#include <mrzone/device.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>

namespace mrz {
namespace {

using testing::HasSubstr;

constexpr Access all = Access::local_write | Access::remote_read | Access::remote_write | Access::remote_atomic;

TEST(DeviceAccess, IsContradictoryExactlyWhereAPeerWritesAndTheOwnerMayNot)
{
    for (unsigned bits = 0; bits < 16; ++bits) {
        const auto access = static_cast<Access>(bits);
        const bool writes = grants(access, Access::remote_write) || grants(access, Access::remote_atomic);
        if (writes && !grants(access, Access::local_write))
            EXPECT_THROW(check_access(access), Error) << to_string(access);
        else
            EXPECT_NO_THROW(check_access(access)) << to_string(access);
    }
}

TEST(DeviceAccess, IsRefusedWithTheRightThatContradicts)
{
    for (const auto& [access, name] : {std::pair{Access::remote_read | Access::remote_write, "remote write needs"},
                                       std::pair{Access::remote_atomic, "remote atomic needs"}}) {
        try {
            check_access(access);
            ADD_FAILURE() << name;
        } catch (const Error& error) {
            EXPECT_EQ(error.error_number(), EINVAL);
            EXPECT_EQ(error.cause().trouble, Trouble::invalid);
            EXPECT_THAT(error.cause().limit, HasSubstr(name));
            EXPECT_THAT(error.cause().remedy, HasSubstr("add local write"));
        }
    }
}

TEST(DeviceAccess, HasNoRightsThatNobodyKnows)
{
    EXPECT_THROW(check_access(static_cast<Access>(0x10)), Error);
    EXPECT_THROW(check_access(static_cast<Access>(0xff)), Error);
}

TEST(DeviceAccess, IsSaidInWords)
{
    EXPECT_EQ(to_string(Access::local_read), "local read");
    EXPECT_EQ(to_string(Access::remote_read), "remote read");
    EXPECT_EQ(to_string(Access::local_write | Access::remote_atomic), "local write, remote atomic");
    EXPECT_EQ(to_string(all), "local write, remote read, remote write, remote atomic");
}

TEST(DeviceStatus, IsSaidInWordsEachInItsOwn)
{
    EXPECT_EQ(to_string(WcStatus::success), "success");
    EXPECT_EQ(to_string(WcStatus::remote_access_error), "remote access error");
    EXPECT_EQ(to_string(static_cast<WcStatus>(99)), to_string(WcStatus::general_error));
    for (int i = 0; i < static_cast<int>(WcStatus::general_error); ++i)
        for (int j = i + 1; j <= static_cast<int>(WcStatus::general_error); ++j)
            EXPECT_NE(to_string(static_cast<WcStatus>(i)), to_string(static_cast<WcStatus>(j)));
}

} // namespace
} // namespace mrz
