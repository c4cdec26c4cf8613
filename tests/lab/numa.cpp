// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Arenas on a machine with two NUMA nodes, each with a page pool of its own.
#include <mrzone/zone.hpp>

#include "support/eal.hpp"
#include "support/in_child.hpp"
#include "support/pool_guard.hpp"
#include "support/require.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <rte_malloc.h>
#include <rte_mbuf.h>

#include <cerrno>
#include <set>
#include <string>
#include <vector>

#include <numaif.h>

namespace mrz::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

//! The nodes that the pages of memory lie on, as the kernel knows it. A negative one is an errno.
std::set<int> nodes_of(const void* address, std::size_t length)
{
    std::vector<void*> pages;
    for (std::size_t offset = 0; offset < length; offset += 2_MiB)
        pages.push_back(static_cast<std::byte*>(const_cast<void*>(address)) + offset);
    std::vector<int> nodes(pages.size(), -EINVAL);
    if (::move_pages(0, pages.size(), pages.data(), nullptr, nodes.data(), 0) != 0)
        return {-errno};
    return {nodes.begin(), nodes.end()};
}

std::set<int> nodes_of(const Window& window)
{
    return nodes_of(window.address(), window.length());
}

class Nodes : public testing::Test {
  protected:
    void SetUp() override
    {
        MRZ_REQUIRE(host::nodes().size() == 2 && host::nodes()[1].id == 1, "needs a machine with two NUMA nodes");
        MRZ_REQUIRE(geteuid() == 0, "needs root");
    }
};

} // namespace

TEST_F(Nodes, HoldTheArenasThatAreBuiltForThem)
{
    in_child([] {
        const Eal eal{{"--in-memory", "--iova-mode=va", "-m", "8"}};
        const std::uint64_t before[] = {read_pool(2_MiB, 0).free, read_pool(2_MiB, 1).free};
        for (const int node : {1, 0}) {
            Arena arena = Arena::build("data", {.size = 64_MiB, .node = node});
            ASSERT_EQ(arena.windows().size(), 1U);
            EXPECT_THAT(nodes_of(arena.windows()[0]), ElementsAre(node));
            arena.grow(8_MiB);
            EXPECT_THAT(nodes_of(arena.windows()[1]), ElementsAre(node));
            EXPECT_EQ(arena.snapshot().node, node);
            EXPECT_EQ(read_pool(2_MiB, 1 - node).free, before[1 - node]);
            // Both windows, each with its header page.
            EXPECT_EQ(read_pool(2_MiB, node).free, before[node] - (64_MiB + 8_MiB) / 2_MiB - 2);
            arena.close();
            EXPECT_EQ(read_pool(2_MiB, node).free, before[node]);
        }
    });
}

TEST_F(Nodes, HoldWhatDpdkTakesFromTheirArenas)
{
    in_child([] {
        const Eal eal{{"--in-memory", "--iova-mode=va", "-m", "8"}};
        Arena zero = Arena::build("zero", {.size = 16_MiB, .node = 0});
        Arena one = Arena::build("one", {.size = 16_MiB, .node = 1});
        for (const auto& [arena, node] : {std::pair{&zero, 0}, std::pair{&one, 1}}) {
            const std::string name = "pool" + std::to_string(node);
            rte_mempool* pool =
                rte_pktmbuf_pool_create(name.c_str(), 1023, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE, arena->socket_id());
            ASSERT_NE(pool, nullptr);
            rte_mbuf* packet = rte_pktmbuf_alloc(pool);
            ASSERT_NE(packet, nullptr);
            EXPECT_THAT(nodes_of(rte_pktmbuf_mtod(packet, void*), 1), ElementsAre(node));
            rte_pktmbuf_free(packet);
            rte_mempool_free(pool);
        }
        zero.close();
        one.close();
    });
}

TEST_F(Nodes, AreNotMadeUpForByOneAnother)
{
    in_child([] {
        const Eal eal{{"--in-memory", "--iova-mode=va", "-m", "8"}};
        // The other node has what is missing, and is not asked.
        const Pool small = resize_pool(2_MiB, 1, 16).after;
        ASSERT_GE(read_pool(2_MiB, 0).free, 40U);
        ASSERT_LT(small.free, 33U);
        const std::uint64_t before = read_pool(2_MiB, 0).free;
        try {
            const Arena arena = Arena::build("data", {.size = 64_MiB, .node = 1});
            FAIL() << "built on " << *nodes_of(arena.windows()[0]).begin();
        } catch (const Error& error) {
            EXPECT_EQ(error.cause().trouble, Trouble::hugepages);
            EXPECT_THAT(error.what(), HasSubstr("node 1"));
            EXPECT_THAT(error.cause().remedy, HasSubstr("node=1"));
            EXPECT_EQ(error.cause().need, 33U); // pages: the header page, too
            EXPECT_EQ(error.cause().present, small.free);
        }
        EXPECT_EQ(read_pool(2_MiB, 0).free, before);
        EXPECT_EQ(read_pool(2_MiB, 1).free, small.free);
        // And without a wish they may lie anywhere.
        Arena anywhere = Arena::build("data", {.size = 64_MiB});
        EXPECT_FALSE(nodes_of(anywhere.windows()[0]).contains(-EINVAL));
        anywhere.close();
        resize_pool(2_MiB, 1, 128);
    });
}

TEST_F(Nodes, ThatAreNotThereAreRefused)
{
    in_child([] {
        const Eal eal{{"--in-memory", "--iova-mode=va", "-m", "8"}};
        try {
            const Arena arena = Arena::build("data", {.size = 2_MiB, .node = 2});
            FAIL() << "built on " << *nodes_of(arena.windows()[0]).begin();
        } catch (const Error& error) {
            EXPECT_EQ(error.error_number(), ENOENT);
            EXPECT_THAT(error.what(), HasSubstr("node 2"));
        }
    });
}

TEST_F(Nodes, HavePoolsThatChangeOneByOne)
{
    const Pool other = read_pool(2_MiB, 0);
    {
        const PoolGuard guard{2_MiB, 144, 1};
        EXPECT_EQ(read_pool(2_MiB, 1).free, 144U);
        EXPECT_EQ(read_pool(2_MiB, 0).total, other.total);
        EXPECT_EQ(read_pool(2_MiB).total, other.total + 144);
    }
    EXPECT_EQ(read_pool(2_MiB, 1).total, 128U);
}

} // namespace mrz::test
