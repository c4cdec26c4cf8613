// SPDX-License-Identifier: BSD-3-Clause
#include <mrzone/base.hpp>

#include <gtest/gtest.h>

#include <cerrno>

using namespace mrz;

TEST(ErrorText, NamesWhatLimitValueNeedAndRemedy)
{
    const Error error{ENOMEM,
                      {.trouble = Trouble::hugepages,
                       .what = "cannot take 1 GiB",
                       .limit = "free pages of 2 MiB on node 0",
                       .present = 100,
                       .need = 513,
                       .remedy = "try: mrz pools set 1G@2M"}};
    EXPECT_STREQ(error.what(), "cannot take 1 GiB: free pages of 2 MiB on node 0 is 100, needed 513; "
                               "try: mrz pools set 1G@2M");
    EXPECT_EQ(error.error_number(), ENOMEM);
    EXPECT_EQ(error.cause().trouble, Trouble::hugepages);
}

TEST(ErrorText, SaysUnknownRatherThanZero)
{
    const Error error{EPERM, {.what = "cannot lock", .limit = "locked memory in bytes", .need = 5, .remedy = ""}};
    EXPECT_STREQ(error.what(), "cannot lock: locked memory in bytes is unknown, needed 5");
}

TEST(ErrorText, LeavesOutWhatHasNoNumber)
{
    const Error error{EINVAL, {.what = "size 0", .limit = "", .remedy = "give a size"}};
    EXPECT_STREQ(error.what(), "size 0; give a size");
}
