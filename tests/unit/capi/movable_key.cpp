// SPDX-License-Identifier: BSD-3-Clause
#include <mrzone/mrzone.h>

#include "soft_domain.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <memory>

namespace mrz::test {
namespace {

using testing::HasSubstr;

struct Destroy {
    void operator()(mrz_region* region) const noexcept { mrz_region_destroy(region); }
    void operator()(mrz_movable_key* key) const noexcept { mrz_movable_key_destroy(key); }
};

class CMovableKey : public SoftDomainTest {
  protected:
    [[nodiscard]] std::unique_ptr<mrz_region, Destroy>
    make_region(std::uint32_t access = MRZ_ACCESS_LOCAL_WRITE) const
    {
        mrz_region* region = nullptr;
        EXPECT_EQ(mrz_region_register(domain(), memory(), memory_size, access, nullptr, &region), 0)
            << mrz_last_error();
        return std::unique_ptr<mrz_region, Destroy>{region};
    }
    [[nodiscard]] std::unique_ptr<mrz_movable_key, Destroy>
    make_key(const mrz_movable_key_options* options = nullptr) const
    {
        mrz_movable_key* key = nullptr;
        EXPECT_EQ(mrz_movable_key_create(domain(), options, &key), 0) << mrz_last_error();
        return std::unique_ptr<mrz_movable_key, Destroy>{key};
    }
    [[nodiscard]] std::uint64_t address(std::size_t offset = 0) const
    {
        return reinterpret_cast<std::uintptr_t>(memory() + offset);
    }

    mrz_remote_region remote = {.struct_size = sizeof(mrz_remote_region),
                                .iova = 0,
                                .length = 0,
                                .rkey = {0},
                                .access = 0,
                                .page_shift = 0,
                                .reserved = 0,
                                .generation = 0};
};

TEST_F(CMovableKey, IsLedToPartsAndNowhere)
{
    const auto region = make_region();
    const auto key = make_key();
    EXPECT_EQ(mrz_movable_key_remote(key.get(), &remote), -ENOENT);
    EXPECT_THAT(mrz_last_error(), HasSubstr("leads nowhere"));
    const std::array parts{mrz_region_part{region.get(), memory() + 4096, 100},
                           mrz_region_part{region.get(), memory(), 8}};
    ASSERT_EQ(mrz_movable_key_lead_to(key.get(), parts.data(), parts.size(), &remote), 0) << mrz_last_error();
    EXPECT_EQ(remote.iova, address(4096));
    EXPECT_EQ(remote.length, 108U);
    EXPECT_EQ(remote.access, MRZ_ACCESS_REMOTE_READ);
    EXPECT_NE(remote.rkey.value, 0U);
    mrz_remote_region again = remote;
    again.rkey.value = 0;
    ASSERT_EQ(mrz_movable_key_remote(key.get(), &again), 0) << mrz_last_error();
    EXPECT_EQ(again.rkey.value, remote.rkey.value);
    EXPECT_EQ(again.generation, remote.generation);
    EXPECT_EQ(mrz_movable_key_lead_nowhere(key.get()), 0) << mrz_last_error();
    EXPECT_EQ(mrz_movable_key_remote(key.get(), &remote), -ENOENT);
}

TEST_F(CMovableKey, IsLedToAllOfARegionUntilThatEnds)
{
    auto region = make_region();
    const auto key = make_key();
    const mrz_region_part whole{region.get(), nullptr, 0};
    ASSERT_EQ(mrz_movable_key_lead_to(key.get(), &whole, 1, &remote), 0) << mrz_last_error();
    EXPECT_EQ(remote.iova, address());
    EXPECT_EQ(remote.length, memory_size);
    region.reset();
    EXPECT_EQ(mrz_movable_key_remote(key.get(), &remote), -ENOENT);
}

TEST_F(CMovableKey, HasWhatItsOptionsSay)
{
    const auto region = make_region(MRZ_ACCESS_LOCAL_READ);
    mrz_movable_key_options options{};
    options.struct_size = sizeof options;
    options.access = MRZ_ACCESS_REMOTE_WRITE;
    options.entries = 1;
    const auto writes = make_key(&options);
    const std::array parts{mrz_region_part{region.get(), memory(), 8}, mrz_region_part{region.get(), memory(), 8}};
    EXPECT_EQ(mrz_movable_key_lead_to(writes.get(), parts.data(), 1, &remote), -EACCES);
    options.access = 0;
    const auto reads = make_key(&options);
    EXPECT_EQ(mrz_movable_key_lead_to(reads.get(), parts.data(), 1, &remote), 0) << mrz_last_error();
    const mrz_remote_region before = remote;
    EXPECT_EQ(mrz_movable_key_lead_to(reads.get(), parts.data(), 2, &remote), -E2BIG);
    EXPECT_EQ(remote.rkey.value, before.rkey.value) << "it leads where it did, and what peers were given stays";
    EXPECT_EQ(remote.length, 8U);
    EXPECT_EQ(remote.generation, before.generation);

    mrz_domain_counts counts{};
    counts.struct_size = sizeof counts;
    ASSERT_EQ(mrz_domain_snapshot(domain(), &counts), 0) << mrz_last_error();
    EXPECT_EQ(counts.movable_keys, 2U);
    EXPECT_EQ(mrz_domain_close(domain()), -EBUSY);
}

TEST_F(CMovableKey, BadArgumentsAreRefused)
{
    mrz_movable_key* key = nullptr;
    EXPECT_EQ(mrz_movable_key_create(nullptr, nullptr, &key), -EINVAL);
    EXPECT_EQ(mrz_movable_key_create(domain(), nullptr, nullptr), -EINVAL);
    mrz_movable_key_options options{};
    EXPECT_EQ(mrz_movable_key_create(domain(), &options, &key), -EINVAL);
    options.struct_size = sizeof options;
    for (const std::uint32_t access : {std::uint32_t{MRZ_ACCESS_LOCAL_WRITE}, std::uint32_t{1} << 20}) {
        options.access = access;
        EXPECT_EQ(mrz_movable_key_create(domain(), &options, &key), -EINVAL);
        EXPECT_EQ(key, nullptr);
    }

    const auto region = make_region();
    const auto good = make_key();
    const auto lead = [&](const mrz_region_part& part) {
        return mrz_movable_key_lead_to(good.get(), &part, 1, &remote);
    };
    EXPECT_EQ(mrz_movable_key_lead_to(nullptr, nullptr, 0, &remote), -EINVAL);
    EXPECT_EQ(mrz_movable_key_lead_to(good.get(), nullptr, 0, &remote), -EINVAL);
    EXPECT_EQ(mrz_movable_key_lead_to(good.get(), nullptr, 1, &remote), -EINVAL);
    EXPECT_EQ(lead({nullptr, memory(), 8}), -EINVAL);
    EXPECT_EQ(lead({region.get(), nullptr, 8}), -EINVAL);
    EXPECT_EQ(lead({region.get(), memory(), 0}), -EINVAL);
    EXPECT_EQ(lead({region.get(), memory(), memory_size + 1}), -EINVAL);
    EXPECT_EQ(lead({region.get(), memory() + 1, UINT64_MAX}), -EINVAL);
    const mrz_region_part part{region.get(), memory(), 8};
    EXPECT_EQ(mrz_movable_key_lead_to(good.get(), &part, 1, nullptr), -EINVAL);
    EXPECT_EQ(mrz_movable_key_remote(good.get(), &remote), -ENOENT) << "it was led all the same";
    EXPECT_EQ(mrz_movable_key_lead_nowhere(nullptr), -EINVAL);
    EXPECT_EQ(mrz_movable_key_remote(nullptr, &remote), -EINVAL);
    EXPECT_EQ(mrz_movable_key_remote(good.get(), nullptr), -ENOENT);
    mrz_movable_key_destroy(nullptr);
}

} // namespace
} // namespace mrz::test
