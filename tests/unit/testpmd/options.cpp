// SPDX-License-Identifier: BSD-3-Clause
#include "testpmd/options.hpp"

#include <mrzone/base.hpp>

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace mrz::testpmd {
namespace {

Options parse(std::vector<std::string> arguments)
{
    arguments.insert(arguments.begin(), "mrz-testpmd");
    std::vector<char*> argv;
    for (std::string& argument : arguments)
        argv.push_back(argument.data());
    return parse_options(static_cast<int>(argv.size()), argv.data());
}

std::string refusal(std::vector<std::string> arguments)
{
    arguments.insert(arguments.begin(), "--");
    try {
        parse(std::move(arguments));
    } catch (const Error& error) {
        EXPECT_EQ(error.cause().trouble, Trouble::invalid);
        EXPECT_FALSE(error.cause().remedy.empty());
        return error.what();
    }
    return {};
}

TEST(Options, GivesTheEalWhatStandsBeforeTheDividerUntouched)
{
    const Options options = parse({"--in-memory", "-l", "0,1", "--vdev=net_null0,size=64", "--", "-i", "--burst=64"});
    EXPECT_EQ(options.eal, (std::vector<std::string>{"--in-memory", "-l", "0,1", "--vdev=net_null0,size=64"}));
    EXPECT_TRUE(options.interactive);
    EXPECT_EQ(options.forward.burst, 64);
}

TEST(Options, DefaultsAreTestpmdsButForTheArena)
{
    const Options options = parse({});
    EXPECT_EQ(options.forward.engine->name, "io");
    EXPECT_EQ(options.forward.burst, 32);
    EXPECT_EQ(options.forward.cores, 1U);
    EXPECT_EQ(options.memory.kind, PoolKind::arena);
    EXPECT_EQ(options.memory.cache, 250U);
    EXPECT_EQ(options.memory.buffer_size, RTE_MBUF_DEFAULT_BUF_SIZE);
    EXPECT_EQ(options.port.rx_queues, 1);
    EXPECT_FALSE(options.interactive);
}

TEST(Options, TakesTestpmdsOwnNames)
{
    const Options options = parse({"--",
                                   "--interactive",
                                   "--auto-start",
                                   "--tx-first",
                                   "--forward-mode=txonly",
                                   "--coremask=0x6",
                                   "--rxq=2",
                                   "--txq=3",
                                   "--enable-rx-cksum",
                                   "--tx-offloads=0xe",
                                   "--rxd=256",
                                   "--txd=512",
                                   "--mbuf-size=4096",
                                   "--total-num-mbufs=4096",
                                   "--mbcache=128",
                                   "--txpkts=64,128",
                                   "--stats-period=5",
                                   "--cmdline-file=commands",
                                   "--max-pkt-len=9000",
                                   "--mp-alloc=arena-extbuf",
                                   "--arena-page=1G",
                                   "--domain=soft",
                                   "--lookup",
                                   "--port-topology=chained",
                                   "--eth-peer=1,02:00:00:00:00:aa"});
    EXPECT_TRUE(options.auto_start && options.tx_first && options.forward.lookup);
    EXPECT_EQ(options.forward.engine->name, "txonly");
    EXPECT_EQ(options.forward.lcores, (std::vector<unsigned>{1, 2}));
    EXPECT_EQ(options.port.tx_queues, 3);
    EXPECT_EQ(options.port.rx_descriptors, 256);
    EXPECT_TRUE(options.port.rx_checksums);
    EXPECT_EQ(options.port.tx_offloads, 0xeU);
    EXPECT_EQ(options.memory.buffer_size, 4096);
    EXPECT_EQ(options.memory.buffers, 4096U);
    EXPECT_EQ(options.forward.shape.length(), 192U);
    EXPECT_EQ(options.stats_period, 5U);
    EXPECT_EQ(options.command_file, "commands");
    EXPECT_EQ(options.port.max_packet, 9000U);
    EXPECT_EQ(options.memory.kind, PoolKind::arena_extbuf);
    EXPECT_EQ(options.memory.page_size, 1_GiB);
    EXPECT_EQ(options.memory.device, "soft");
    EXPECT_EQ(options.forward.topology, Topology::chained);
    ASSERT_TRUE(options.forward.peers.contains(1));
    EXPECT_EQ(options.forward.peers.at(1).addr_bytes[5], 0xaa);
}

TEST(Options, HelpNamesEveryEngineAndIsFoundOnEitherSideOfTheDivider)
{
    for (const auto& arguments :
         {std::vector<std::string>{"--help"}, std::vector<std::string>{"--", "-h"}, std::vector<std::string>{"-h"}}) {
        const Options options = parse(arguments);
        ASSERT_TRUE(options.text);
        for (const Engine* const engine : engines())
            EXPECT_NE(options.text->find(engine->name), std::string::npos) << engine->name;
    }
}

TEST(Options, RefusesWhatContradictsItself)
{
    EXPECT_NE(refusal({"--lookup"}).find("--domain"), std::string::npos);
    EXPECT_NE(refusal({"--mp-alloc=native", "--domain=soft"}).find("native"), std::string::npos);
    EXPECT_NE(refusal({"--nb-cores=2", "--coremask=0x2"}), "");
    EXPECT_NE(refusal({"-i", "--tx-first"}).find("start tx_first"), std::string::npos);
    EXPECT_EQ(refusal({"-i", "-a", "--tx-first"}), "");
}

TEST(Options, RefusesWhatIsOutOfRangeOrUnknown)
{
    EXPECT_NE(refusal({"--forward-mode=fast"}).find("macswap"), std::string::npos) << "names those there are";
    EXPECT_NE(refusal({"--burst=513"}), "");
    EXPECT_NE(refusal({"--burst=0"}), "");
    EXPECT_NE(refusal({"--burst=-1"}), "");
    EXPECT_NE(refusal({"--rxq=0"}), "");
    EXPECT_NE(refusal({"--rxq=70000"}), "");
    EXPECT_NE(refusal({"--mbcache=513"}), "");
    EXPECT_NE(refusal({"--mbuf-size=100"}), "");
    EXPECT_NE(refusal({"--total-num-mbufs=4294967296"}), "");
    EXPECT_NE(refusal({"--mp-alloc=anon"}), "");
    EXPECT_NE(refusal({"--coremask=0"}), "");
    EXPECT_NE(refusal({"--coremask=0xg"}), "");
    EXPECT_NE(refusal({"--eth-peer=1"}), "");
    EXPECT_NE(refusal({"--eth-peer=1,02:00"}), "");
    EXPECT_NE(refusal({"--eth-peer=x,02:00:00:00:00:01"}), "");
    EXPECT_NE(refusal({"--eth-peer=,02:00:00:00:00:01"}), "");
    EXPECT_NE(refusal({"--eth-peer=70000,02:00:00:00:00:01"}), "");
    EXPECT_NE(refusal({"--tx-offloads=all"}), "");
    EXPECT_NE(refusal({"--arena-page=x"}), "");
    EXPECT_NE(refusal({"--no-such-option"}), "");
    EXPECT_NE(refusal({"word"}), "");
}

TEST(Options, RefusesToBeASecondaryProcess)
{
    for (const std::vector<std::string>& eal : {std::vector<std::string>{"--proc-type=secondary"},
                                                {"--proc-type=auto"},
                                                {"--proc-type", "secondary"},
                                                {"--proc", "auto"},
                                                {"--pr"}})
        EXPECT_THROW(parse(eal), Error) << eal.front();
    EXPECT_EQ(parse({"--proc-type=primary", "--no-pci"}).eal.size(), 2U);
    EXPECT_EQ(parse({"--proc-type", "primary"}).eal.size(), 2U);
}

TEST(PacketShape, IsReadAsSegments)
{
    const PacketShape shape = parse_shape("64,1,1500");
    EXPECT_EQ(shape.segments, 3);
    EXPECT_EQ(shape.lengths[1], 1);
    EXPECT_EQ(shape.length(), 1565U);
}

TEST(PacketShape, RefusesWhatIsNoPacket)
{
    for (const char* const text :
         {"", ",", "64,", ",64", "0", "64,0", "41", "65536", "-1", "64 ", "64;64", "x", "65535,65535"})
        EXPECT_THROW(parse_shape(text), Error) << text;
    std::string many = "64";
    for (int i = 0; i < 254; ++i)
        many += ",1";
    EXPECT_EQ(parse_shape(many).segments, 255);
    EXPECT_THROW(parse_shape(many + ",1"), Error);
}

} // namespace
} // namespace mrz::testpmd
