// SPDX-License-Identifier: BSD-3-Clause
#include <mrzone/mrzone.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <limits>
#include <thread>

using testing::HasSubstr;

namespace {

mrz_arena_options good_options()
{
    mrz_arena_options options{};
    options.struct_size = sizeof options;
    options.size = 2 << 20;
    return options;
}

//! A value that a failing call must replace.
mrz_arena* const unset = reinterpret_cast<mrz_arena*>(8);

} // namespace

TEST(CApi, DestroyTakesNull)
{
    mrz_arena_destroy(nullptr);
}

TEST(CApi, BadArgumentsAreRefusedAndTheResultIsNull)
{
    const mrz_arena_options options = good_options();
    mrz_arena* arena = unset;
    EXPECT_EQ(mrz_arena_build(nullptr, &options, &arena), -EINVAL);
    EXPECT_EQ(arena, nullptr);
    arena = unset;
    EXPECT_EQ(mrz_arena_build("data", nullptr, &arena), -EINVAL);
    EXPECT_EQ(arena, nullptr);
    EXPECT_EQ(mrz_arena_build("data", &options, nullptr), -EINVAL);
    arena = unset;
    EXPECT_EQ(mrz_arena_attach(nullptr, &arena), -EINVAL);
    EXPECT_EQ(arena, nullptr);
    EXPECT_EQ(mrz_arena_grow(nullptr, 1), -EINVAL);
    EXPECT_EQ(mrz_arena_refresh(nullptr), -EINVAL);
    EXPECT_EQ(mrz_arena_socket_id(nullptr), -EINVAL);
    EXPECT_EQ(mrz_arena_explain(nullptr, nullptr, 0), -EINVAL);
    EXPECT_EQ(mrz_arena_close(nullptr), -EINVAL);
}

TEST(CApi, WithoutAnEalTheErrorSaysSo)
{
    const mrz_arena_options options = good_options();
    mrz_arena* arena = unset;
    EXPECT_EQ(mrz_arena_build("data", &options, &arena), -ENODEV);
    EXPECT_EQ(arena, nullptr);
    EXPECT_THAT(mrz_last_error(), HasSubstr("rte_eal_init"));
}

TEST(CApi, AnOlderCallersShorterOptionsAreTaken)
{
    mrz_arena_options options = good_options();
    options.struct_size = offsetof(mrz_arena_options, page_size);
    options.page_size = 12345; // beyond what this caller says it has: not looked at
    mrz_arena* arena = unset;
    EXPECT_EQ(mrz_arena_build("data", &options, &arena), -ENODEV) << mrz_last_error();
    options.struct_size = 0;
    EXPECT_EQ(mrz_arena_build("data", &options, &arena), -EINVAL);
}

TEST(CApi, ANewerCallersUnknownWishIsRefusedButZerosAreFine)
{
    struct {
        mrz_arena_options known;
        std::array<unsigned char, 16> more;
    } options{good_options(), {}};
    options.known.struct_size = sizeof options;
    mrz_arena* arena = unset;
    EXPECT_EQ(mrz_arena_build("data", &options.known, &arena), -ENODEV) << mrz_last_error();
    options.more[15] = 1;
    EXPECT_EQ(mrz_arena_build("data", &options.known, &arena), -E2BIG);
}

TEST(CApi, ANegativeNodeAndAReservedMemberInUseAreRefused)
{
    mrz_arena* arena = unset;
    mrz_arena_options options = good_options();
    options.node_plus_one = std::numeric_limits<std::int32_t>::min();
    EXPECT_EQ(mrz_arena_build("data", &options, &arena), -EINVAL);
    options = good_options();
    options.reserved = 1;
    EXPECT_EQ(mrz_arena_build("data", &options, &arena), -EINVAL);
}

TEST(CApi, TheLastErrorIsTheThreadsOwn)
{
    EXPECT_EQ(mrz_arena_close(nullptr), -EINVAL);
    EXPECT_STRNE(mrz_last_error(), "");
    std::thread{[] { EXPECT_STREQ(mrz_last_error(), ""); }}.join();
}
