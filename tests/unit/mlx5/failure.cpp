// SPDX-License-Identifier: BSD-3-Clause
#include "failure.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>

namespace mrz::mlx5 {
namespace {

using layouts::Status;
using testing::HasSubstr;

Error explained(Status status, std::uint32_t syndrome = 0, bool indirect = false, std::uint64_t entries = 1)
{
    const Error error =
        explain({.what = "registering 4 KiB at 0x1000 with device mlx5_0",
                 .refusal = {.error = EREMOTEIO, .status = static_cast<std::uint8_t>(status), .syndrome = syndrome},
                 .indirect = indirect,
                 .entries = entries,
                 .max_entries = 64,
                 .max_indirection = 4,
                 .max_mr = 1000});
    EXPECT_THAT(error.cause().what, HasSubstr("mlx5_0"));
    EXPECT_NE(error.cause().remedy, "");
    return error;
}

TEST(Mlx5Failure, OfKeysThatAreUsedUpNamesTheDevicesLimit)
{
    const Error error = explained(Status::lim, 0x18af6);
    EXPECT_EQ(error.error_number(), ENOMEM);
    EXPECT_EQ(error.cause().trouble, Trouble::unsupported);
    EXPECT_THAT(error.cause().limit, HasSubstr("the device's keys (max_mr"));
    EXPECT_EQ(error.cause().present, 1000U);
    EXPECT_EQ(error.cause().need, 1001U);
    // By its syndrome alone, where the kernel puts the status into other words.
    EXPECT_THAT(explained(Status::ok, 0x18af6).cause().limit, HasSubstr("the device's keys (max_mr"));
}

TEST(Mlx5Failure, OfAnOffsetThatDisagreesNamesIt)
{
    const Error error = explained(Status::bad_param, 0x317175);
    EXPECT_EQ(error.error_number(), EINVAL);
    EXPECT_EQ(error.cause().trouble, Trouble::data);
    EXPECT_THAT(error.cause().limit, HasSubstr("disagree modulo the page size"));
    EXPECT_THAT(error.cause().limit, HasSubstr("0x317175"));
}

TEST(Mlx5Failure, OfAnIndirectKeyNamesWhatItMayHaveTooMuchOf)
{
    const Error longer = explained(Status::bad_param, 0x1234, true, 65);
    EXPECT_THAT(longer.cause().limit, HasSubstr("log_max_klm_list_size"));
    EXPECT_EQ(longer.cause().present, 64U);
    EXPECT_EQ(longer.cause().need, 65U);
    const Error window = explained(Status::bad_param, 0x1234, true);
    EXPECT_EQ(window.error_number(), EINVAL);
    EXPECT_THAT(window.cause().limit, HasSubstr("window"));
    EXPECT_THAT(window.cause().limit, HasSubstr("more levels than the device has (4)"));
    EXPECT_THAT(window.cause().limit, HasSubstr("syndrome 0x1234"));
    EXPECT_THAT(explained(Status::bad_param, 0x45d3a4, true).cause().limit, HasSubstr("atomics"));
}

TEST(Mlx5Failure, OfTablesThatAreFullNamesThem)
{
    const Error error = explained(Status::no_res);
    EXPECT_EQ(error.error_number(), ENOMEM);
    EXPECT_THAT(error.cause().limit, HasSubstr("tables"));
}

TEST(Mlx5Failure, OfWhatIsNotKnownHasTheFirmwaresOwnWords)
{
    const Error error = explained(Status::bad_sys_state, 0xabcdef);
    EXPECT_EQ(error.error_number(), EREMOTEIO);
    EXPECT_EQ(error.cause().trouble, Trouble::internal);
    EXPECT_THAT(error.cause().limit, HasSubstr("bad system state"));
    EXPECT_THAT(error.cause().limit, HasSubstr("0xabcdef"));
    EXPECT_THAT(error.cause().remedy, HasSubstr("the way memory_region")) << "which needs no command of a process";
    EXPECT_THAT(explained(Status{0x77}).cause().limit, HasSubstr("0x77"));
}

TEST(Mlx5Failure, OfTheKernelHasItsWords)
{
    const Error error = explain({.what = "registering with mlx5_0", .refusal = {.error = EINVAL}});
    EXPECT_EQ(error.error_number(), EINVAL);
    EXPECT_THAT(error.cause().limit, HasSubstr("the kernel: Invalid argument"));
    EXPECT_EQ(explain({.what = "", .refusal = {.error = ENOMEM}}).error_number(), ENOMEM);
}

} // namespace
} // namespace mrz::mlx5
