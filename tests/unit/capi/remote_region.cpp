// SPDX-License-Identifier: BSD-3-Clause
#include <mrzone/mrzone.h>

#include "soft_domain.hpp"

#include <mrzone/region.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>

namespace mrz::test {
namespace {

constexpr std::uint32_t rights = MRZ_ACCESS_LOCAL_WRITE | MRZ_ACCESS_REMOTE_READ | MRZ_ACCESS_REMOTE_ATOMIC;

mrz_remote_region example()
{
    return {.struct_size = sizeof(mrz_remote_region),
            .iova = 0x7f12'3456'0040,
            .length = 0x1234'5678,
            .rkey = {0xdead'be07},
            .access = MRZ_ACCESS_REMOTE_READ | MRZ_ACCESS_REMOTE_WRITE,
            .page_shift = 21,
            .reserved = 0,
            .generation = 77};
}

TEST(CRemoteRegion, IsPackedAsInCppAndComesBack)
{
    const mrz_remote_region wanted = example();
    std::array<std::byte, MRZ_REMOTE_REGION_PACKED + 8> bytes{};
    bytes.fill(std::byte{0x5a});
    ASSERT_EQ(mrz_remote_region_pack(&wanted, bytes.data(), bytes.size()), MRZ_REMOTE_REGION_PACKED)
        << mrz_last_error();
    EXPECT_EQ(bytes[MRZ_REMOTE_REGION_PACKED], std::byte{0x5a});
    const auto packed = RemoteRegion{.iova = Iova{wanted.iova},
                                     .length = wanted.length,
                                     .rkey = RKey{wanted.rkey.value},
                                     .access = Access::remote_read | Access::remote_write,
                                     .page_shift = PageShift{21},
                                     .generation = 77}
                            .pack();
    EXPECT_TRUE(std::ranges::equal(packed, std::span{bytes}.first(packed.size())));
    mrz_remote_region found{};
    found.struct_size = sizeof found;
    ASSERT_EQ(mrz_remote_region_unpack(bytes.data(), bytes.size(), &found), 0) << mrz_last_error();
    EXPECT_EQ(found.struct_size, sizeof found);
    EXPECT_EQ(found.iova, wanted.iova);
    EXPECT_EQ(found.length, wanted.length);
    EXPECT_EQ(found.rkey.value, wanted.rkey.value);
    EXPECT_EQ(found.access, wanted.access);
    EXPECT_EQ(found.page_shift, wanted.page_shift);
    EXPECT_EQ(found.generation, wanted.generation);
}

TEST(CRemoteRegion, DamagedOrCutShortIsRefused)
{
    const mrz_remote_region wanted = example();
    std::array<std::byte, MRZ_REMOTE_REGION_PACKED> bytes{};
    ASSERT_EQ(mrz_remote_region_pack(&wanted, bytes.data(), bytes.size()), MRZ_REMOTE_REGION_PACKED);
    mrz_remote_region found{};
    found.struct_size = sizeof found;
    EXPECT_EQ(mrz_remote_region_unpack(bytes.data(), bytes.size() - 1, &found), -EBADMSG);
    bytes[20] ^= std::byte{4};
    EXPECT_EQ(mrz_remote_region_unpack(bytes.data(), bytes.size(), &found), -EBADMSG);
    EXPECT_THAT(mrz_last_error(), testing::HasSubstr("checksum"));
    EXPECT_EQ(found.length, 0U);
}

TEST(CRemoteRegion, BadArgumentsAreRefused)
{
    std::array<std::byte, MRZ_REMOTE_REGION_PACKED> bytes{};
    mrz_remote_region region = example();
    EXPECT_EQ(mrz_remote_region_pack(nullptr, bytes.data(), bytes.size()), -EINVAL);
    EXPECT_EQ(mrz_remote_region_pack(&region, nullptr, bytes.size()), -EINVAL);
    EXPECT_EQ(mrz_remote_region_pack(&region, bytes.data(), bytes.size() - 1), -ENOBUFS);
    EXPECT_EQ(mrz_remote_region_unpack(nullptr, bytes.size(), &region), -EINVAL);
    ASSERT_EQ(mrz_remote_region_pack(&region, bytes.data(), bytes.size()), MRZ_REMOTE_REGION_PACKED);
    EXPECT_EQ(mrz_remote_region_unpack(bytes.data(), bytes.size(), nullptr), -EINVAL);
    for (const auto& change : std::initializer_list<void (*)(mrz_remote_region&)>{
             [](mrz_remote_region& one) { one.struct_size = 0; }, [](mrz_remote_region& one) { one.page_shift = 11; },
             [](mrz_remote_region& one) { one.page_shift = 64; }, [](mrz_remote_region& one) { one.reserved = 1; },
             [](mrz_remote_region& one) { one.access |= MRZ_ACCESS_LOCAL_WRITE; },
             [](mrz_remote_region& one) { one.access |= 1U << 30; }}) {
        mrz_remote_region bad = example();
        change(bad);
        EXPECT_EQ(mrz_remote_region_pack(&bad, bytes.data(), bytes.size()), -EINVAL);
    }
}

class CRegionForPeers : public SoftDomainTest {
  protected:
    static mrz_remote_region blank()
    {
        mrz_remote_region blank{};
        blank.struct_size = sizeof blank;
        return blank;
    }
};

TEST_F(CRegionForPeers, SaysWhatAPeerNeeds)
{
    mrz_region* region = nullptr;
    ASSERT_EQ(mrz_region_register(domain(), memory(), memory_size, rights, nullptr, &region), 0) << mrz_last_error();
    mrz_remote_region remote = blank();
    ASSERT_EQ(mrz_region_remote(region, &remote), 0) << mrz_last_error();
    EXPECT_EQ(remote.iova, mrz_region_iova(region));
    EXPECT_EQ(remote.length, memory_size);
    EXPECT_EQ(remote.rkey.value, mrz_region_rkey(region).value);
    EXPECT_EQ(remote.access, static_cast<std::uint32_t>(MRZ_ACCESS_REMOTE_READ | MRZ_ACCESS_REMOTE_ATOMIC));
    EXPECT_GE(remote.page_shift, 12U);
    EXPECT_GT(remote.generation, 0U);
    EXPECT_EQ(mrz_region_remote(region, nullptr), -EINVAL);
    EXPECT_EQ(mrz_region_remote(nullptr, &remote), -EINVAL);
    mrz_region_destroy(region);
}

TEST_F(CRegionForPeers, IsIssuedAgainOnlyWhereThatCanBeTold)
{
    mrz_region* region = nullptr;
    ASSERT_EQ(mrz_region_register(domain(), memory(), memory_size, rights, nullptr, &region), 0) << mrz_last_error();
    const mrz_rkey before = mrz_region_rkey(region);
    EXPECT_EQ(mrz_region_reissue(region, nullptr), -EINVAL);
    EXPECT_EQ(mrz_region_reissue(nullptr, nullptr), -EINVAL);
    mrz_remote_region remote{}; // without its size
    EXPECT_EQ(mrz_region_reissue(region, &remote), -EINVAL);
    EXPECT_EQ(mrz_region_rkey(region).value, before.value);
    mrz_region_destroy(region);
}

TEST_F(CRegionForPeers, WithoutARemoteRightIsNothingToAPeer)
{
    mrz_region* region = nullptr;
    ASSERT_EQ(mrz_region_register(domain(), memory(), memory_size, 0, nullptr, &region), 0) << mrz_last_error();
    mrz_remote_region remote = blank();
    EXPECT_EQ(mrz_region_remote(region, &remote), -EACCES);
    EXPECT_EQ(mrz_region_reissue(region, &remote), -EACCES);
    mrz_region_destroy(region);
}

TEST(CDomainOfVerbs, NeedsAProtectionDomain)
{
    mrz_domain* domain = reinterpret_cast<mrz_domain*>(8);
    EXPECT_EQ(mrz_domain_adopt(nullptr, &domain), -EINVAL);
    EXPECT_EQ(domain, nullptr);
    EXPECT_EQ(mrz_domain_adopt(nullptr, nullptr), -EINVAL);
}

} // namespace
} // namespace mrz::test
