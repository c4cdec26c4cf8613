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
#include <type_traits>

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
    mrz_domain_destroy(nullptr);
    mrz_region_destroy(nullptr);
    mrz_arena_destroy(nullptr);
    mrz_zone_destroy(nullptr);
}

// What an arena or a zone lends cannot be destroyed by who borrowed it.
static_assert(std::is_invocable_v<decltype(mrz_region_destroy), mrz_region*>);
static_assert(!std::is_invocable_v<decltype(mrz_region_destroy), const mrz_region*>);

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
    EXPECT_EQ(mrz_arena_attach(nullptr, nullptr, 0, &arena), -EINVAL);
    EXPECT_EQ(arena, nullptr);
    EXPECT_EQ(mrz_arena_grow(nullptr, 1), -EINVAL);
    EXPECT_EQ(mrz_arena_refresh(nullptr), -EINVAL);
    EXPECT_EQ(mrz_arena_socket_id(nullptr), -EINVAL);
    EXPECT_EQ(mrz_arena_explain(nullptr, nullptr, 0), -EINVAL);
    EXPECT_EQ(mrz_arena_map_for(nullptr, 0), -EINVAL);
    EXPECT_EQ(mrz_arena_close(nullptr), -EINVAL);
    mrz_arena_info info{};
    info.struct_size = sizeof info;
    EXPECT_EQ(mrz_arena_describe(nullptr, &info), -EINVAL);
    const mrz_region* region = reinterpret_cast<mrz_region*>(8);
    EXPECT_EQ(mrz_arena_region(nullptr, nullptr, &info, 1, &region), -EINVAL);
    EXPECT_EQ(region, nullptr);
}

TEST(CApi, BadArgumentsOfZonesAreRefusedAndTheResultIsNull)
{
    mrz_zone* zone = reinterpret_cast<mrz_zone*>(8);
    EXPECT_EQ(mrz_zone_reserve(nullptr, "table", 4096, MRZ_ACCESS_LOCAL_WRITE, 0, &zone), -EINVAL);
    EXPECT_EQ(zone, nullptr);
    const mrz_region* region = reinterpret_cast<mrz_region*>(8);
    EXPECT_EQ(mrz_zone_region(nullptr, nullptr, &region), -EINVAL);
    EXPECT_EQ(region, nullptr);
    EXPECT_EQ(mrz_zone_explain(nullptr, nullptr, 0), -EINVAL);
    EXPECT_EQ(mrz_zone_address(nullptr), nullptr);
    EXPECT_EQ(mrz_zone_size(nullptr), 0u);
    EXPECT_EQ(mrz_zone_access(nullptr), 0u);
    EXPECT_EQ(mrz_zone_memzone(nullptr), nullptr);
}

TEST(CApi, DomainsOfAnArenaAreCountedAndNoneIsNull)
{
    mrz_arena* arena = unset;
    mrz_arena_options options = good_options();
    options.domain_count = 1;
    EXPECT_EQ(mrz_arena_build("data", &options, &arena), -EINVAL);
    EXPECT_THAT(mrz_last_error(), HasSubstr("array of domains is NULL"));
    mrz_domain* const domains[] = {nullptr};
    options.domains = domains;
    EXPECT_EQ(mrz_arena_build("data", &options, &arena), -EINVAL);
    EXPECT_THAT(mrz_last_error(), HasSubstr("the domain is NULL"));
    EXPECT_EQ(mrz_arena_attach("data", nullptr, 1, &arena), -EINVAL);
    EXPECT_EQ(mrz_arena_attach("data", domains, 1, &arena), -EINVAL);
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
    options = good_options();
    options.struct_size = offsetof(mrz_arena_options, domains); // the struct before arenas had domains
    options.domain_count = 1;
    EXPECT_EQ(mrz_arena_build("data", &options, &arena), -ENODEV) << mrz_last_error();
}

TEST(CApi, ASizeOfAStructThatWasNotSetIsRefused)
{
    mrz_arena_options options = good_options();
    mrz_arena* arena = unset;
    for (const std::size_t size : {std::size_t{0}, sizeof options.struct_size - 1, ~std::size_t{0}}) {
        options.struct_size = size;
        EXPECT_EQ(mrz_arena_build("data", &options, &arena), -EINVAL) << size;
        EXPECT_THAT(mrz_last_error(), HasSubstr("sizeof(struct mrz_arena_options)"));
    }
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
    options.exact = 1;
    options.surplus_percent = 1;
    EXPECT_EQ(mrz_arena_build("data", &options, &arena), -EINVAL);
}

TEST(CApi, TheLastErrorIsTheThreadsOwn)
{
    EXPECT_EQ(mrz_arena_close(nullptr), -EINVAL);
    EXPECT_STRNE(mrz_last_error(), "");
    std::thread{[] { EXPECT_STREQ(mrz_last_error(), ""); }}.join();
}
