// SPDX-License-Identifier: BSD-3-Clause
#include "testpmd/pool_memory.hpp"

#include <gtest/gtest.h>

#include <mrzone/base.hpp>

#include <vector>

namespace mrz::testpmd {
namespace {

using Pieces = std::vector<MemoryPiece>;

TEST(WholePages, AreThoseThatBytesTouch)
{
    EXPECT_EQ(whole_pages({{.address = 4_MiB + 1, .length = 2_MiB}}, 2_MiB), (Pieces{{4_MiB, 4_MiB}}));
    EXPECT_EQ(whole_pages({{.address = 4_MiB, .length = 2_MiB}}, 2_MiB), (Pieces{{4_MiB, 2_MiB}}));
    EXPECT_EQ(whole_pages({}, 2_MiB), Pieces{});
}

TEST(WholePages, CountOnceWhatSeveralPiecesShare)
{
    EXPECT_EQ(whole_pages({{.address = 8_MiB, .length = 100},
                           {.address = 4_MiB, .length = 2_MiB - 4_KiB},
                           {.address = 6_MiB - 4_KiB, .length = 4_KiB},
                           {.address = 6_MiB, .length = 64},
                           {.address = 4_MiB + 64, .length = 64}},
                          2_MiB),
              (Pieces{{4_MiB, 6_MiB}}));
}

TEST(WholePages, KeepApartWhatHasAPageBetween)
{
    EXPECT_EQ(whole_pages({{.address = 8_MiB, .length = 64}, {.address = 4_MiB, .length = 64}}, 2_MiB),
              (Pieces{{4_MiB, 2_MiB}, {8_MiB, 2_MiB}}));
}

} // namespace
} // namespace mrz::testpmd
