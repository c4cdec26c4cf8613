// SPDX-License-Identifier: BSD-3-Clause
#include <mrzone/mrzone.h>

#include "soft_domain.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

namespace mrz::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr std::uint32_t all_rights =
    MRZ_ACCESS_LOCAL_WRITE | MRZ_ACCESS_REMOTE_READ | MRZ_ACCESS_REMOTE_WRITE | MRZ_ACCESS_REMOTE_ATOMIC;

class CRegion : public SoftDomainTest {
  protected:
    //! The errno of registering all of memory(), of which nothing stays.
    int errno_of(std::uint32_t access, const mrz_region_options* options = nullptr)
    {
        mrz_region* region = reinterpret_cast<mrz_region*>(8);
        const int result = mrz_region_register(domain(), memory(), memory_size, access, options, &region);
        EXPECT_EQ(region == nullptr, result != 0);
        mrz_region_destroy(region);
        return result;
    }
    static mrz_region_options no_options()
    {
        mrz_region_options options{};
        options.struct_size = sizeof options;
        return options;
    }
};

TEST_F(CRegion, DescribesItselfAndItsKeys)
{
    mrz_region* region = nullptr;
    ASSERT_EQ(mrz_region_register(domain(), memory(), memory_size, all_rights, nullptr, &region), 0)
        << mrz_last_error();
    mrz_region_info info{};
    info.struct_size = sizeof info;
    ASSERT_EQ(mrz_region_describe(region, &info), 0) << mrz_last_error();
    EXPECT_EQ(info.struct_size, sizeof info);
    EXPECT_EQ(info.address, memory());
    EXPECT_EQ(info.length, memory_size);
    EXPECT_EQ(info.iova, reinterpret_cast<std::uintptr_t>(memory()));
    EXPECT_EQ(info.access, all_rights);
    EXPECT_NE(info.lkey.value, info.rkey.value);
    EXPECT_GE(info.page_shift, 12u);
    EXPECT_GE(info.mtt_entries, 1u);
    EXPECT_LE(info.mtt_entries, memory_size >> 12);
    EXPECT_EQ(info.pinned_bytes, memory_size);
    EXPECT_GT(info.pin_ns, 0u);
    EXPECT_EQ(mrz_region_lkey(region).value, info.lkey.value);
    EXPECT_EQ(mrz_region_rkey(region).value, info.rkey.value);
    EXPECT_EQ(mrz_region_iova(region), info.iova);
    std::array<char, 256> line{};
    const int length = mrz_region_explain(region, line.data(), line.size());
    EXPECT_EQ(length, static_cast<int>(std::strlen(line.data())));
    EXPECT_THAT(line.data(), AllOf(HasSubstr("1 key, " + std::to_string(info.mtt_entries)), HasSubstr("limited by")));
    mrz_region_destroy(region);
}

TEST_F(CRegion, AnOlderCallersStructIsFilledNoFurtherThanItGoes)
{
    mrz_region* region = nullptr;
    ASSERT_EQ(mrz_region_register(domain(), memory(), memory_size, 0, nullptr, &region), 0) << mrz_last_error();
    std::array<unsigned char, sizeof(mrz_region_info)> bytes{};
    for (const std::size_t size : {offsetof(mrz_region_info, address), offsetof(mrz_region_info, rkey)}) {
        bytes.fill(0x5a);
        std::memcpy(bytes.data(), &size, sizeof size);
        ASSERT_EQ(mrz_region_describe(region, reinterpret_cast<mrz_region_info*>(bytes.data())), 0);
        for (std::size_t i = size; i < bytes.size(); ++i)
            ASSERT_EQ(bytes[i], 0x5a) << "byte " << i << " of a struct of " << size;
    }
    mrz_lkey lkey{};
    std::memcpy(&lkey, bytes.data() + offsetof(mrz_region_info, lkey), sizeof lkey);
    EXPECT_EQ(lkey.value, mrz_region_lkey(region).value);
    mrz_region_destroy(region);
}

TEST_F(CRegion, ANewerCallersStructIsFilledAsFarAsWeKnow)
{
    mrz_region* region = nullptr;
    ASSERT_EQ(mrz_region_register(domain(), memory(), memory_size, 0, nullptr, &region), 0) << mrz_last_error();
    struct {
        mrz_region_info known;
        std::array<unsigned char, 16> more;
    } info{};
    info.known.struct_size = sizeof info;
    ASSERT_EQ(mrz_region_describe(region, &info.known), 0) << mrz_last_error();
    EXPECT_EQ(info.known.length, memory_size);
    EXPECT_THAT(info.more, testing::Each(0));
    mrz_region_destroy(region);
}

TEST_F(CRegion, BadArgumentsAreRefusedAndTheResultIsNull)
{
    mrz_region* region = reinterpret_cast<mrz_region*>(8);
    EXPECT_EQ(mrz_region_register(nullptr, memory(), memory_size, 0, nullptr, &region), -EINVAL);
    EXPECT_EQ(region, nullptr);
    EXPECT_EQ(mrz_region_register(domain(), memory(), 0, 0, nullptr, &region), -EINVAL);
    EXPECT_EQ(mrz_region_register(domain(), memory(), ~std::uint64_t{0}, 0, nullptr, &region), -EINVAL);
    EXPECT_EQ(mrz_region_register(domain(), nullptr, memory_size, 0, nullptr, &region), -EFAULT);
    EXPECT_EQ(mrz_region_register(domain(), memory(), memory_size, 0, nullptr, nullptr), -EINVAL);
    mrz_region_info info{};
    info.struct_size = sizeof info;
    EXPECT_EQ(mrz_region_describe(nullptr, &info), -EINVAL);
    EXPECT_EQ(mrz_region_explain(nullptr, nullptr, 0), -EINVAL);
    ASSERT_EQ(mrz_region_register(domain(), memory(), memory_size, 0, nullptr, &region), 0) << mrz_last_error();
    EXPECT_EQ(mrz_region_describe(region, nullptr), -EINVAL);
    info.struct_size = 7;
    EXPECT_EQ(mrz_region_describe(region, &info), -EINVAL);
    EXPECT_EQ(mrz_region_explain(region, nullptr, 1), -EINVAL);
    mrz_region_destroy(region);
}

TEST_F(CRegion, GettersOfNullGiveZero)
{
    EXPECT_EQ(mrz_region_lkey(nullptr).value, 0u);
    EXPECT_EQ(mrz_region_rkey(nullptr).value, 0u);
    EXPECT_EQ(mrz_region_iova(nullptr), 0u);
}

TEST_F(CRegion, RightsThatDoNotExistAreRefusedByTheirBits)
{
    EXPECT_EQ(errno_of(all_rights), 0) << mrz_last_error();
    EXPECT_EQ(errno_of(1u << 4), -EINVAL);
    EXPECT_THAT(mrz_last_error(), HasSubstr("0x10"));
    // Bits that a narrower type would lose.
    EXPECT_EQ(errno_of(MRZ_ACCESS_LOCAL_WRITE | 1u << 8), -EINVAL);
    EXPECT_EQ(errno_of(1u << 31), -EINVAL);
}

TEST_F(CRegion, RightsThatContradictEachOtherAreRefused)
{
    EXPECT_EQ(errno_of(MRZ_ACCESS_REMOTE_READ), 0) << mrz_last_error();
    EXPECT_EQ(errno_of(MRZ_ACCESS_REMOTE_WRITE), -EINVAL);
    EXPECT_THAT(mrz_last_error(), HasSubstr("local write"));
    EXPECT_EQ(errno_of(MRZ_ACCESS_REMOTE_ATOMIC), -EINVAL);
}

TEST_F(CRegion, TheKeysSpaceBeginsWhereTheOptionsSay)
{
    mrz_region_options options = no_options();
    options.has_iova = 1;
    options.iova = 0; // an iova as good as any
    mrz_region* region = nullptr;
    ASSERT_EQ(mrz_region_register(domain(), memory(), memory_size, 0, &options, &region), 0) << mrz_last_error();
    EXPECT_EQ(mrz_region_iova(region), 0u);
    mrz_region_destroy(region);
    options.iova = 1; // disagrees with the memory below a page
    EXPECT_EQ(errno_of(0, &options), -EINVAL);
    options.iova = 0x10000;
    options.has_iova = 0;
    EXPECT_EQ(errno_of(0, &options), -EINVAL);
    EXPECT_THAT(mrz_last_error(), HasSubstr("has_iova"));
}

TEST_F(CRegion, ChoicesThatDoNotExistAreRefused)
{
    mrz_region_options options = no_options();
    options.ordering = MRZ_ORDERING_BEST;
    EXPECT_EQ(errno_of(0, &options), 0) << mrz_last_error();
    options.ordering = MRZ_ORDERING_BEST + 1;
    EXPECT_EQ(errno_of(0, &options), -EINVAL);
    EXPECT_THAT(mrz_last_error(), HasSubstr("ordering 3"));
    options = no_options();
    options.paging = MRZ_PAGING_ON_DEMAND; // which the software adapter does not have
    EXPECT_EQ(errno_of(0, &options), -ENOTSUP);
    options.paging = MRZ_PAGING_ON_DEMAND + 1;
    EXPECT_EQ(errno_of(0, &options), -EINVAL);
    EXPECT_THAT(mrz_last_error(), HasSubstr("paging 2"));
    options = no_options();
    options.way = MRZ_WAY_MEMORY_REGION; // the software adapter has one way
    EXPECT_EQ(errno_of(0, &options), 0) << mrz_last_error();
    options.way = MRZ_WAY_MEMORY_REGION + 1;
    EXPECT_EQ(errno_of(0, &options), -EINVAL);
    EXPECT_THAT(mrz_last_error(), HasSubstr("way 3"));
    options = no_options();
    for (const std::uint32_t sharing : {MRZ_SHARING_SIMILAR, MRZ_SHARING_NEVER, MRZ_SHARING_ALWAYS}) {
        options.sharing = sharing;
        EXPECT_EQ(errno_of(0, &options), 0) << mrz_last_error();
    }
    options.sharing = MRZ_SHARING_ALWAYS + 1;
    EXPECT_EQ(errno_of(0, &options), -EINVAL);
    EXPECT_THAT(mrz_last_error(), HasSubstr("sharing 3"));
    options = no_options();
    options.reserved = 1;
    EXPECT_EQ(errno_of(0, &options), -EINVAL);
}

TEST_F(CRegion, OptionsOfOtherVersionsAreTakenIfTheyAskForNothingUnknown)
{
    mrz_region_options options = no_options();
    options.struct_size = offsetof(mrz_region_options, paging);
    options.paging = 99; // beyond what this caller says it has: not looked at
    EXPECT_EQ(errno_of(0, &options), 0) << mrz_last_error();
    struct {
        mrz_region_options known;
        std::array<unsigned char, 8> more;
    } newer{no_options(), {}};
    newer.known.struct_size = sizeof newer;
    EXPECT_EQ(errno_of(0, &newer.known), 0) << mrz_last_error();
    newer.more[0] = 1;
    EXPECT_EQ(errno_of(0, &newer.known), -E2BIG);
    EXPECT_THAT(mrz_last_error(), HasSubstr("struct mrz_region_options"));
}

TEST_F(CRegion, KeepsItsDomainWhenTheHandleGoesFirst)
{
    mrz_region* region = nullptr;
    ASSERT_EQ(mrz_region_register(domain(), memory(), memory_size, MRZ_ACCESS_LOCAL_WRITE, nullptr, &region), 0)
        << mrz_last_error();
    const std::uint32_t lkey = mrz_region_lkey(region).value;
    destroy_domain();
    EXPECT_EQ(mrz_region_lkey(region).value, lkey);
    mrz_region_destroy(region);
}

} // namespace
} // namespace mrz::test
