// SPDX-License-Identifier: BSD-3-Clause
#include "testpmd/key_search.hpp"

#include <gtest/gtest.h>

using mrz::LKey;
using mrz::testpmd::KeySearch;

namespace {

const void* at(std::uintptr_t address)
{
    return reinterpret_cast<const void*>(address);
}

TEST(KeySearch, FindsTheKeyThatCoversAllBytes)
{
    const KeySearch keys{{{.address = 0x3000, .length = 0x1000, .key = LKey{3}},
                          {.address = 0x1000, .length = 0x1000, .key = LKey{1}},
                          {.address = 0x2000, .length = 0x800, .key = LKey{2}}}};
    EXPECT_EQ(keys.find(at(0x1000), 1), LKey{1});
    EXPECT_EQ(keys.find(at(0x1fff), 1), LKey{1});
    EXPECT_EQ(keys.find(at(0x2000), 0x800), LKey{2});
    EXPECT_EQ(keys.find(at(0x3fff), 1), LKey{3});
}

TEST(KeySearch, FindsNoneWhereAnyByteHasNone)
{
    const KeySearch keys{{{.address = 0x1000, .length = 0x1000, .key = LKey{1}},
                          {.address = 0x2000, .length = 0x800, .key = LKey{2}}}};
    EXPECT_EQ(keys.find(at(0xfff), 1), std::nullopt);
    EXPECT_EQ(keys.find(at(0xfff), 2), std::nullopt);
    EXPECT_EQ(keys.find(at(0x1fff), 2), std::nullopt) << "two keys are not one";
    EXPECT_EQ(keys.find(at(0x2800), 1), std::nullopt);
    EXPECT_EQ(keys.find(at(0x27ff), 2), std::nullopt);
    EXPECT_EQ(keys.find(at(0x2000), SIZE_MAX), std::nullopt);
    EXPECT_EQ(keys.find(at(UINTPTR_MAX), 1), std::nullopt);
}

TEST(KeySearch, FindsNoneInNothing)
{
    EXPECT_EQ(KeySearch{{}}.find(at(0x1000), 1), std::nullopt);
}

} // namespace
