// SPDX-License-Identifier: BSD-3-Clause
#include "address.hpp"
#include "path.hpp"

#include <gtest/gtest.h>

#include <arpa/inet.h>

#include <vector>

namespace mrz::verbs {
namespace {

TEST(VerbsAddress, IsWrittenAsItIsRead)
{
    SocketAddress any = any_address(7471, AF_INET6);
    EXPECT_EQ(to_string(*any.get()), "[::]:7471");
    EXPECT_TRUE(is_any(*any.get()));
    any = any_address(80, AF_INET);
    EXPECT_EQ(to_string(*any.get()), "0.0.0.0:80");
    EXPECT_TRUE(is_any(*any.get()));
    for (const auto& [host, text] :
         {std::pair{"127.0.0.1", "127.0.0.1:5"}, std::pair{"::ffff:10.0.0.1", "10.0.0.1:5"}}) {
        SocketAddress address = resolve({host, 5}, "testing");
        EXPECT_EQ(to_string(*address.get()), text);
        EXPECT_FALSE(is_any(*address.get()));
        EXPECT_EQ(port_of(*address.get()), 5);
    }
}

ibv_gid_entry entry(std::uint32_t index, const char* address, std::uint32_t type, std::uint32_t port = 1)
{
    ibv_gid_entry result{};
    result.gid_index = index;
    result.port_num = port;
    result.gid_type = type;
    EXPECT_EQ(::inet_pton(AF_INET6, address, result.gid.raw), 1);
    return result;
}

TEST(VerbsPath, PrefersAnIpv4AddressOfTheNewerRoce)
{
    const std::vector<ibv_gid_entry> entries = {
        entry(0, "fe80::1", IBV_GID_TYPE_ROCE_V1),         entry(1, "fe80::1", IBV_GID_TYPE_ROCE_V2),
        entry(2, "::ffff:10.0.0.1", IBV_GID_TYPE_ROCE_V1), entry(3, "2001:db8::1", IBV_GID_TYPE_ROCE_V2),
        entry(4, "::ffff:10.0.0.1", IBV_GID_TYPE_ROCE_V2), entry(5, "::ffff:10.0.0.2", IBV_GID_TYPE_ROCE_V2, 2),
    };
    const std::span<const ibv_gid_entry> all{entries};
    EXPECT_EQ(choose_gid(all, 1)->gid_index, 4U);
    EXPECT_EQ(choose_gid(all.first(4), 1)->gid_index, 3U);
    EXPECT_EQ(choose_gid(all.first(3), 1)->gid_index, 1U);
    EXPECT_EQ(choose_gid(all, 2)->gid_index, 5U);
    EXPECT_FALSE(choose_gid(all, 3));
    EXPECT_EQ(ipv4_of(entries[4].gid), "10.0.0.1");
    EXPECT_FALSE(ipv4_of(entries[3].gid));
}

TEST(VerbsPath, TakesNoEndpointThatIsNone)
{
    const Place place{.number = 17, .psn = 3, .mtu = IBV_MTU_4096, .ethernet = 1, .gid = {1, 2, 3}};
    const auto same = Place::unpack(place.pack());
    ASSERT_TRUE(same);
    EXPECT_EQ(same->number, 17U);
    EXPECT_EQ(same->gid, place.gid);
    EXPECT_FALSE(Place::unpack({}));
    Endpoint damaged = place.pack();
    damaged.bytes.pop_back();
    EXPECT_FALSE(Place::unpack(damaged));
    damaged = place.pack();
    damaged.bytes.front() = std::byte{0};
    EXPECT_FALSE(Place::unpack(damaged));
    EXPECT_FALSE(Place::unpack(Place{.mtu = 9}.pack()));
}

} // namespace
} // namespace mrz::verbs
