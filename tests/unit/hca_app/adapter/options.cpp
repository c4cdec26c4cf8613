// SPDX-License-Identifier: BSD-3-Clause
#include "options.hpp"

#include "support/refusal.hpp"

#include <gmock/gmock.h>

#include <cerrno>
#include <vector>

namespace mrz {
namespace {

Options parse(std::vector<const char*> words)
{
    words.insert(words.begin(), "mrz-hca");
    return parse_options(static_cast<int>(words.size()), words.data());
}

int refused(const std::vector<const char*>& words)
{
    return test::refusal([&] { (void)parse(words); }).error_number();
}

TEST(HcaOptions, SayWhatTheDeviceIs)
{
    const auto plain = parse({"--socket", "/run/hca"}).serve;
    ASSERT_TRUE(plain);
    EXPECT_EQ(plain->socket, "/run/hca");
    EXPECT_EQ(plain->adapter.settings.link, firmware::LinkType::infiniband);
    EXPECT_TRUE(plain->adapter.settings.umr_modifies_entity_size);
    EXPECT_FALSE(plain->control);
    EXPECT_NE(plain->adapter.settings.log_max_uctx, 0U);
    EXPECT_EQ(parse({"--socket=s", "--no-devx"}).serve->adapter.settings.log_max_uctx, 0U);
    EXPECT_EQ(plain->adapter.engine.mpt_cache.sets, 0u);

    const auto other = parse({"--socket=s", "--link-type=ethernet", "--registration=command", "--control", "c",
                              "--keys=1000", "--mpt-cache=4x2", "--mtt-cache", "16x8"})
                           .serve;
    ASSERT_TRUE(other);
    EXPECT_EQ(other->adapter.settings.link, firmware::LinkType::ethernet);
    EXPECT_FALSE(other->adapter.settings.umr_modifies_entity_size);
    EXPECT_EQ(other->control, "c");
    EXPECT_EQ(other->adapter.engine.keys.keys, 1000u);
    EXPECT_EQ(other->adapter.engine.mpt_cache.ways, 2u);
    EXPECT_EQ(other->adapter.engine.mtt_cache.sets, 16u);
}

TEST(HcaOptions, DevicesOfTwoNamesDiffer)
{
    const auto settings = [](const char* name) {
        return parse({"--socket", "/run/hca", "--name", name}).serve->adapter.settings;
    };
    EXPECT_NE(settings("a").guid, settings("b").guid);
    EXPECT_NE(settings("a").mac, settings("b").mac);
    EXPECT_EQ(settings("a").guid, settings("a").guid);
    EXPECT_EQ(settings("a").mac[0] & 1, 0); // unicast
    for (const char* const name : {"a", "b", "hca0", "hca1", "x", "y"}) {
        EXPECT_GE(settings(name).lid, 1);
        EXPECT_LE(settings(name).lid, 0xbfff);
    }
}

TEST(HcaOptions, SayWhomTheDeviceMeets)
{
    const auto linked = parse({"--socket=s", "--link", "a", "--link=b", "--lid=77"}).serve;
    ASSERT_TRUE(linked);
    EXPECT_THAT(linked->adapter.links, testing::ElementsAre("a", "b"));
    EXPECT_EQ(linked->adapter.settings.lid, 77);
    EXPECT_EQ(refused({"--socket=s", "--link=a", "--link-type=ethernet"}), EINVAL);
    EXPECT_EQ(refused({"--socket=s", "--lid=0"}), EINVAL);
    EXPECT_EQ(refused({"--socket=s", "--lid=0xc000"}), EINVAL);
}

TEST(HcaOptions, AskADevice)
{
    const auto ask = parse({"control", "/run/c", "get", "keys", "most=3"}).ask;
    ASSERT_TRUE(ask);
    EXPECT_EQ(ask->path, "/run/c");
    EXPECT_THAT(ask->words, testing::ElementsAre("get", "keys", "most=3"));
}

TEST(HcaOptions, AreRefusedWhereTheyMakeNoSense)
{
    EXPECT_EQ(refused({}), EINVAL);
    EXPECT_EQ(refused({"--socket"}), EINVAL);
    EXPECT_EQ(refused({"--socket=s", "--link-type=token-ring"}), EINVAL);
    EXPECT_EQ(refused({"--socket=s", "--keys=0"}), EINVAL);
    for (const char* const cache : {"--mpt-cache=8", "--mpt-cache=0x8", "--mpt-cache=8x", "--mpt-cache=8x0",
                                    "--mpt-cache=8x8x8", "--mpt-cache=70000x70000", "--mpt-cache=-1x1"})
        EXPECT_EQ(refused({"--socket=s", cache}), EINVAL) << cache;
    EXPECT_EQ(refused({"control", "/run/c"}), EINVAL);
    EXPECT_EQ(refused({"--socket=s", "word"}), EINVAL);
    EXPECT_TRUE(parse({"--help"}).text);
    EXPECT_TRUE(parse({"--version"}).text);
}

} // namespace
} // namespace mrz
