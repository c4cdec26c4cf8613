// SPDX-License-Identifier: BSD-3-Clause
#include "common/pool_request.hpp"

#include <mrzone/base.hpp>

#include <gtest/gtest.h>

namespace mrz::app {
namespace {

using namespace mrz::literals;

TEST(PoolRequest, ReadsSizePageAndNode)
{
    EXPECT_EQ(parse_pool_request("2G@2M"), (PoolRequest{2_MiB, {}, 1024}));
    EXPECT_EQ(parse_pool_request("2G@2M,node=3"), (PoolRequest{2_MiB, 3, 1024}));
    EXPECT_EQ(parse_pool_request("0@1GiB"), (PoolRequest{1_GiB, {}, 0}));
}

TEST(PoolRequest, RefusesEverythingElse)
{
    for (const char* const text : {"", "2G", "@2M", "2G@", "2G@3M", "3M@2M", "2G@2M,", "2G@2M,0", "2G@2M,node=",
                                   "2G@2M,node=-1", "2G@2M,node=x", "2G@2M,node=1,node=2", "2G@2M@2M", "2G@0"})
        try {
            parse_pool_request(text);
            ADD_FAILURE() << text;
        } catch (const Error& error) {
            EXPECT_EQ(error.cause().trouble, Trouble::invalid) << text;
            EXPECT_FALSE(error.cause().remedy.empty()) << text;
        }
}

TEST(PoolRequest, WritesWhatItReads)
{
    for (const char* const text : {"2G@2M", "0@2M", "6M@2M,node=1", "3G@1G"})
        EXPECT_EQ(to_string(parse_pool_request(text)), text);
}

TEST(PoolRequest, NamesAPoolForPeople)
{
    EXPECT_EQ(pool_name(2_MiB, {}), "2-MiB pages");
    EXPECT_EQ(pool_name(1_GiB, 1), "1-GiB pages of node 1");
}

} // namespace
} // namespace mrz::app
