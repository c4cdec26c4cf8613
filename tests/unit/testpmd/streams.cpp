// SPDX-License-Identifier: BSD-3-Clause
#include "testpmd/streams.hpp"

#include <mrzone/base.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

namespace mrz::testpmd {
namespace {

std::vector<std::size_t> destinations(std::size_t ports, Topology topology)
{
    std::vector<std::size_t> all;
    for (std::size_t i = 0; i < ports; ++i)
        all.push_back(destination(i, ports, topology));
    return all;
}

TEST(Destination, PairsNeighboursAndSendsAnOddLastPortToItself)
{
    EXPECT_EQ(destinations(4, Topology::paired), (std::vector<std::size_t>{1, 0, 3, 2}));
    EXPECT_EQ(destinations(3, Topology::paired), (std::vector<std::size_t>{1, 0, 2}));
    EXPECT_EQ(destinations(1, Topology::paired), (std::vector<std::size_t>{0}));
}

TEST(Destination, ChainsEachToTheNextAndLoopsEachToItself)
{
    EXPECT_EQ(destinations(3, Topology::chained), (std::vector<std::size_t>{1, 2, 0}));
    EXPECT_EQ(destinations(3, Topology::loop), (std::vector<std::size_t>{0, 1, 2}));
}

TEST(Shares, AreAsEvenAsCanBeAndLeaveNobodyWithNothing)
{
    for (std::size_t streams = 0; streams < 20; ++streams) {
        for (std::size_t lcores = 1; lcores < 8; ++lcores) {
            const std::vector<std::size_t> each = shares(streams, lcores);
            EXPECT_EQ(each.size(), std::min(streams, lcores));
            EXPECT_EQ(std::accumulate(each.begin(), each.end(), std::size_t{0}), streams);
            if (each.empty())
                continue;
            EXPECT_TRUE(std::ranges::is_sorted(each, std::greater{}));
            EXPECT_LE(each.front() - each.back(), 1U);
        }
    }
}

std::string refusal(const ForwardOptions& options, std::vector<unsigned> workers)
{
    try {
        forwarding_lcores(options, workers, 0);
    } catch (const Error& error) {
        EXPECT_EQ(error.cause().trouble, Trouble::invalid);
        return error.what();
    }
    return {};
}

TEST(ForwardingLcores, AreTheFirstWorkersOrThoseNamed)
{
    const std::vector<unsigned> workers{2, 5, 7};
    EXPECT_EQ(forwarding_lcores({.cores = 2}, workers, 0), (std::vector<unsigned>{2, 5}));
    EXPECT_EQ(forwarding_lcores({.lcores = {7, 2}}, workers, 0), (std::vector<unsigned>{7, 2}));
}

TEST(ForwardingLcores, RefusesMoreThanThereAreAndSaysWhatToGive)
{
    EXPECT_NE(refusal({.cores = 1}, {}).find("-l 0-1"), std::string::npos);
    EXPECT_NE(refusal({.cores = 4}, {1, 2}).find("-l 0-4"), std::string::npos);
}

TEST(ForwardingLcores, RefusesTheMainLcoreAndOneThatTheEalWasNotGiven)
{
    EXPECT_NE(refusal({.lcores = {0}}, {1}).find("main lcore"), std::string::npos);
    EXPECT_NE(refusal({.lcores = {3}}, {1}).find("was not given"), std::string::npos);
}

} // namespace
} // namespace mrz::testpmd
