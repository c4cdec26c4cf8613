// SPDX-License-Identifier: BSD-3-Clause
#include <mrzone/mrzone.h>

#include "soft_domain.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cerrno>
#include <string>

namespace mrz::test {
namespace {

using testing::HasSubstr;

class CDomain : public SoftDomainTest {};

TEST_F(CDomain, BadArgumentsAreRefused)
{
    EXPECT_EQ(mrz_domain_open("soft", nullptr), -EINVAL);
    EXPECT_EQ(mrz_domain_name(nullptr, nullptr, 0), -EINVAL);
    EXPECT_EQ(mrz_domain_driver(nullptr, nullptr, 0), -EINVAL);
    EXPECT_EQ(mrz_domain_reason(nullptr, nullptr, 0), -EINVAL);
    EXPECT_EQ(mrz_domain_numa_node(nullptr), -EINVAL);
    EXPECT_EQ(mrz_domain_pins_again(nullptr), -EINVAL);
    EXPECT_EQ(mrz_domain_close(nullptr), -EINVAL);
    mrz_cache_counters counters{};
    counters.struct_size = sizeof counters;
    EXPECT_EQ(mrz_domain_cache_counters(nullptr, &counters), -EINVAL);
    EXPECT_EQ(mrz_domain_cache_counters(domain(), nullptr), -EINVAL);
    counters.struct_size = 0;
    EXPECT_EQ(mrz_domain_cache_counters(domain(), &counters), -EINVAL);
    EXPECT_EQ(mrz_domain_name(domain(), nullptr, 8), -EINVAL);
}

TEST_F(CDomain, ADeviceThatDoesNotExistIsNamedWithThoseThatDo)
{
    mrz_domain* none = reinterpret_cast<mrz_domain*>(8);
    EXPECT_EQ(mrz_domain_open("mlx5_77", &none), -ENODEV);
    EXPECT_EQ(none, nullptr);
    EXPECT_THAT(mrz_last_error(), testing::AllOf(HasSubstr("mlx5_77"), HasSubstr("soft")));
}

TEST_F(CDomain, NullIsAnyDevice)
{
    mrz_domain* any = nullptr;
    ASSERT_EQ(mrz_domain_open(nullptr, &any), 0) << mrz_last_error();
    std::array<char, 1024> reason{};
    EXPECT_GT(mrz_domain_reason(any, reason.data(), reason.size()), 0);
    EXPECT_THAT(reason.data(), testing::Not(HasSubstr("asked for by name")));
    mrz_domain_destroy(any);
}

TEST_F(CDomain, SaysWhatItIs)
{
    std::array<char, 64> text{};
    EXPECT_EQ(mrz_domain_name(domain(), text.data(), text.size()), 4);
    EXPECT_STREQ(text.data(), "soft");
    EXPECT_EQ(mrz_domain_driver(domain(), text.data(), text.size()), 4);
    EXPECT_STREQ(text.data(), "soft");
    EXPECT_GT(mrz_domain_reason(domain(), text.data(), text.size()), 0);
    EXPECT_STREQ(text.data(), "asked for by name");
    EXPECT_EQ(mrz_domain_numa_node(domain()), -ENODATA);
    EXPECT_THAT(mrz_last_error(), HasSubstr("soft"));
    EXPECT_THAT(mrz_domain_pins_again(domain()), testing::AnyOf(0, 1)); // 0 where io_uring is not permitted
}

TEST_F(CDomain, ATextIsCutAsBySnprintf)
{
    std::array<char, 4> text{'x', 'x', 'x', 'x'};
    EXPECT_EQ(mrz_domain_name(domain(), nullptr, 0), 4);
    EXPECT_EQ(mrz_domain_name(domain(), text.data(), 0), 4);
    EXPECT_EQ(text[0], 'x');
    EXPECT_EQ(mrz_domain_name(domain(), text.data(), 3), 4);
    EXPECT_STREQ(text.data(), "so");
    EXPECT_EQ(text[3], 'x');
    EXPECT_EQ(mrz_domain_name(domain(), text.data(), 1), 4);
    EXPECT_STREQ(text.data(), "");
}

TEST_F(CDomain, CountersAreFilledAsFarAsTheCallersStructGoes)
{
    constexpr std::uint64_t untouched = 0x5a5a5a5a5a5a5a5a;
    mrz_cache_counters counters{.struct_size = offsetof(mrz_cache_counters, mtt_misses),
                                .mtt_hits = untouched,
                                .mtt_misses = untouched,
                                .mpt_hits = untouched,
                                .mpt_misses = untouched};
    ASSERT_EQ(mrz_domain_cache_counters(domain(), &counters), 0) << mrz_last_error();
    EXPECT_NE(counters.mtt_hits, untouched);
    EXPECT_EQ(counters.mtt_misses, untouched);
    EXPECT_EQ(counters.mpt_misses, untouched);
    EXPECT_EQ(counters.struct_size, offsetof(mrz_cache_counters, mtt_misses));
    counters.struct_size = sizeof counters;
    ASSERT_EQ(mrz_domain_cache_counters(domain(), &counters), 0) << mrz_last_error();
    EXPECT_NE(counters.mpt_misses, untouched);
    EXPECT_EQ(counters.struct_size, sizeof counters);
}

TEST_F(CDomain, IsNotClosedWhileARegionLivesInIt)
{
    mrz_region* region = nullptr;
    ASSERT_EQ(mrz_region_register(domain(), memory(), memory_size, 0, nullptr, &region), 0) << mrz_last_error();
    EXPECT_EQ(mrz_domain_close(domain()), -EBUSY);
    EXPECT_THAT(mrz_last_error(), HasSubstr("region of 64 KiB"));
    mrz_region_destroy(region);
    EXPECT_EQ(mrz_domain_close(domain()), 0) << mrz_last_error();
    EXPECT_EQ(mrz_domain_close(domain()), 0) << mrz_last_error();
    EXPECT_EQ(mrz_region_register(domain(), memory(), memory_size, 0, nullptr, &region), -EBADF);
    EXPECT_EQ(region, nullptr);
    EXPECT_EQ(mrz_domain_name(domain(), nullptr, 0), 4);
}

} // namespace
} // namespace mrz::test
