// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Every allocation of a call fails once: it gives -ENOMEM and leaves nothing behind.
#include <mrzone/mrzone.h>

#include "soft_domain.hpp"
#include "support/failing_allocations.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <functional>

namespace mrz::test {
namespace {

class OutOfMemory : public SoftDomainTest {};

TEST_F(OutOfMemory, OpeningADomainGivesEnomem)
{
    mrz_domain* opened = nullptr;
    fail_each_allocation([&] {
        opened = reinterpret_cast<mrz_domain*>(8);
        const int result = mrz_domain_open("soft", &opened);
        EXPECT_EQ(opened == nullptr, result != 0);
        return result;
    });
    mrz_domain_destroy(opened);
}

TEST_F(OutOfMemory, RegisteringGivesEnomemAndLeavesNothingInTheDomain)
{
    mrz_region* region = nullptr;
    fail_each_allocation([&] {
        region = reinterpret_cast<mrz_region*>(8);
        const int result =
            mrz_region_register(domain(), memory(), memory_size, MRZ_ACCESS_LOCAL_WRITE, nullptr, &region);
        EXPECT_EQ(region == nullptr, result != 0);
        return result;
    });
    mrz_region_destroy(region);
    EXPECT_EQ(mrz_domain_close(domain()), 0) << mrz_last_error();
}

TEST_F(OutOfMemory, ExplainingGivesEnomem)
{
    mrz_region* region = nullptr;
    ASSERT_EQ(mrz_region_register(domain(), memory(), memory_size, 0, nullptr, &region), 0) << mrz_last_error();
    fail_each_allocation([&] { return mrz_region_explain(region, nullptr, 0) > 0 ? 0 : -ENOMEM; });
    mrz_region_destroy(region);
}

} // namespace
} // namespace mrz::test
