// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Numbers of objects: 24 bits, each given a second time as late as can be.
#include "number_table.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <memory>

using namespace mrz;
using namespace mrz::hca;

namespace {

struct Thing {
    explicit Thing(std::uint32_t its_number) : number{its_number} {}
    std::uint32_t number;
};

std::uint32_t add(NumberTable<Thing>& things)
{
    return things.add([](std::uint32_t number) { return std::make_shared<Thing>(number); })->number;
}

} // namespace

TEST(Numbers, BeginAnewAfterTheLastOf24Bits)
{
    constexpr std::uint32_t last = (1U << 24) - 1;
    NumberTable<Thing> things{"thing", 4, last - 2};
    EXPECT_EQ(add(things), last - 2);
    EXPECT_EQ(add(things), last - 1);
    things.remove(last - 2);
    EXPECT_EQ(add(things), last) << "one that was given comes as late as can be";
    EXPECT_EQ(add(things), last - 2);
    things.remove(last);
    EXPECT_EQ(add(things), last);
    try {
        add(things);
        ADD_FAILURE() << "there are no more numbers";
    } catch (const Error& error) {
        EXPECT_EQ(error.error_number(), ENOMEM);
    }
}
