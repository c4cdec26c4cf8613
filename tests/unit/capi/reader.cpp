// SPDX-License-Identifier: BSD-3-Clause
#include <mrzone/mrzone.h>

#include "soft_domain.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <string>

namespace mrz::test {
namespace {

using testing::HasSubstr;

class CReader : public SoftDomainTest {
  protected:
    void SetUp() override
    {
        SoftDomainTest::SetUp();
        if (IsSkipped() || HasFatalFailure())
            return;
        ASSERT_EQ(mrz_reader_create(domain(), MRZ_LOOKUP_LAYOUT, &reader_), 0) << mrz_last_error();
    }
    void TearDown() override { mrz_reader_destroy(reader_); }

    mrz_region* registered(std::size_t length, std::uint32_t access = MRZ_ACCESS_LOCAL_WRITE)
    {
        mrz_region* region = nullptr;
        EXPECT_EQ(mrz_region_register(domain(), memory(), length, access, nullptr, &region), 0) << mrz_last_error();
        return region;
    }

    mrz_reader* reader_ = nullptr;
};

TEST_F(CReader, FindsARegionUntilItIsDestroyed)
{
    mrz_lkey key{77};
    EXPECT_EQ(mrz_lookup(reader_, memory(), 1, &key), 0);
    EXPECT_EQ(key.value, 77u) << "left alone";
    mrz_region* const region = registered(memory_size);
    EXPECT_EQ(mrz_lookup(reader_, memory(), memory_size, &key), 1);
    EXPECT_EQ(key.value, mrz_region_lkey(region).value);
    EXPECT_EQ(mrz_lookup(reader_, memory(), memory_size + 1, &key), 0);
    key = {};
    EXPECT_EQ(mrz_lookup_reach(reader_, memory() + 100, 10, &key), memory_size - 100);
    EXPECT_EQ(key.value, mrz_region_lkey(region).value);
    mrz_reader_quiescent(reader_);
    mrz_region_destroy(region);
    EXPECT_EQ(mrz_lookup(reader_, memory(), 1, &key), 0);
    EXPECT_EQ(mrz_lookup_reach(reader_, memory(), 1, &key), 0u);
}

TEST_F(CReader, FindsToReadWhatGrantsNoWrite)
{
    mrz_region* const region = registered(memory_size, MRZ_ACCESS_LOCAL_READ);
    mrz_lkey key{};
    EXPECT_EQ(mrz_lookup(reader_, memory(), 1, &key), 0);
    EXPECT_EQ(mrz_lookup_to_read(reader_, memory(), 1, &key), 1);
    EXPECT_EQ(key.value, mrz_region_lkey(region).value);
    EXPECT_EQ(mrz_lookup_reach_to_read(reader_, memory(), 1, &key), memory_size);
    mrz_region_destroy(region);
}

TEST_F(CReader, OfAnotherLayoutIsRefused)
{
    mrz_reader* other = reinterpret_cast<mrz_reader*>(8);
    EXPECT_EQ(mrz_reader_create(domain(), MRZ_LOOKUP_LAYOUT + 1, &other), -ENOTSUP);
    EXPECT_EQ(other, nullptr);
    EXPECT_THAT(mrz_last_error(), HasSubstr("layout " + std::to_string(MRZ_LOOKUP_LAYOUT + 1)));
}

TEST_F(CReader, BadArgumentsAreRefusedAndNullIsDestroyed)
{
    mrz_reader* other = reinterpret_cast<mrz_reader*>(8);
    EXPECT_EQ(mrz_reader_create(nullptr, MRZ_LOOKUP_LAYOUT, &other), -EINVAL);
    EXPECT_EQ(other, nullptr);
    EXPECT_EQ(mrz_reader_create(domain(), MRZ_LOOKUP_LAYOUT, nullptr), -EINVAL);
    mrz_reader_quiescent(nullptr);
    mrz_reader_offline(nullptr);
    mrz_reader_online(nullptr);
    mrz_reader_destroy(nullptr);
}

TEST_F(CReader, KeepsTheDomainFromBeingClosed)
{
    mrz_reader_offline(reader_);
    mrz_reader_online(reader_);
    EXPECT_EQ(mrz_domain_close(domain()), -EBUSY);
    EXPECT_THAT(mrz_last_error(), HasSubstr("reader"));
    mrz_reader_destroy(reader_);
    reader_ = nullptr;
    EXPECT_EQ(mrz_domain_close(domain()), 0) << mrz_last_error();
    EXPECT_EQ(mrz_reader_create(domain(), MRZ_LOOKUP_LAYOUT, &reader_), -EBADF);
}

} // namespace
} // namespace mrz::test
