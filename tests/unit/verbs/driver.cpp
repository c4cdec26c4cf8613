// SPDX-License-Identifier: BSD-3-Clause
#include "context.hpp"
#include "queue_pair.hpp"

#include <mrzone/device.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <filesystem>

namespace mrz::verbs {

Driver driver();

namespace {

TEST(VerbsDriver, ListsSilentlyWhereTheKernelHasNoDevices)
{
    testing::internal::CaptureStderr();
    const auto devices = driver().list();
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
    if (!std::filesystem::exists("/sys/class/infiniband_verbs")) {
        EXPECT_TRUE(devices.empty());
    }
}

TEST(VerbsDriver, SaysThatThereIsNoSuchDevice)
{
    try {
        static_cast<void>(driver().open("no such device"));
        ADD_FAILURE();
    } catch (const Error& error) {
        EXPECT_EQ(error.error_number(), ENODEV);
        EXPECT_EQ(error.cause().trouble, Trouble::unsupported);
        EXPECT_THAT(error.what(), testing::HasSubstr("no such device"));
    }
}

TEST(VerbsOutstanding, IsFullUntilACompletionRetiresWhatWasPostedBefore)
{
    Outstanding requests{4};
    for (std::uint64_t id = 100; id < 104; ++id) {
        EXPECT_FALSE(requests.full());
        EXPECT_EQ(requests.next(id), id - 100);
        requests.posted();
    }
    EXPECT_TRUE(requests.full());
    // The first two were silent.
    EXPECT_EQ(requests.retire(2), 102U);
    for (std::uint64_t id = 104; id < 107; ++id) {
        EXPECT_FALSE(requests.full());
        requests.next(id);
        requests.posted();
    }
    EXPECT_TRUE(requests.full());
    for (std::uint64_t number = 3; number < 7; ++number)
        EXPECT_EQ(requests.retire(number), 100 + number);
    // One that could not be posted leaves nothing.
    requests.next(1);
    EXPECT_EQ(requests.next(2), 7U);
}

} // namespace
} // namespace mrz::verbs
