// SPDX-License-Identifier: BSD-3-Clause
#include "page_nodes.hpp"

#include <mrzone/base.hpp>

#include <gtest/gtest.h>

#include <cerrno>
#include <vector>

namespace mrz::hugepage {
namespace {

TEST(PageNodes, PagesOfTheNodeAskedForPass)
{
    EXPECT_NO_THROW(check_nodes(std::vector{1, 1, 1}, 2_MiB, 1));
    EXPECT_NO_THROW(check_nodes({}, 2_MiB, 1));
}

TEST(PageNodes, OnePageOfAnotherNodeIsAnErrorThatNamesNodeHaveAndNeed)
{
    try {
        check_nodes(std::vector{1, 1, 0, 1}, 2_MiB, 1);
        FAIL() << "no error";
    } catch (const Error& error) {
        EXPECT_EQ(error.error_number(), ENOMEM);
        EXPECT_EQ(error.cause().trouble, Trouble::hugepages);
        EXPECT_EQ(error.cause().what, "4 hugepages of 2 MiB from node 1");
        EXPECT_EQ(error.cause().limit, "pages that lie on node 1 (the kernel gave one of node 0)");
        EXPECT_EQ(error.cause().present, 3U);
        EXPECT_EQ(error.cause().need, 4U);
    }
}

TEST(PageNodes, APageWhoseNodeIsUnknownIsNotTakenForOneOfTheNode)
{
    try {
        check_nodes(std::vector{0, -ENOENT}, 1_GiB, 0);
        FAIL() << "no error";
    } catch (const Error& error) {
        EXPECT_EQ(error.cause().present, 1U);
        EXPECT_NE(error.cause().limit.find("No such file"), std::string::npos) << error.what();
    }
}

TEST(PageNodes, MemoryThatHasNoPagesIsRefused)
{
    alignas(4096) static std::byte untouched[4096 * 4];
    EXPECT_THROW(check_node(untouched, 4096, 4000), Error);
}

} // namespace
} // namespace mrz::hugepage
