// SPDX-License-Identifier: BSD-3-Clause
#include "resources.hpp"

#include <gtest/gtest.h>
#include <linux/netlink.h>
#include <rdma/rdma_netlink.h>

#include <cstring>
#include <string>
#include <vector>

namespace mrz::verbs {
namespace {

using Bytes = std::vector<std::byte>;

Bytes attribute(std::uint16_t type, const Bytes& payload)
{
    const nlattr head{static_cast<std::uint16_t>(sizeof(nlattr) + payload.size()), type};
    Bytes bytes(NLA_ALIGN(head.nla_len));
    std::memcpy(bytes.data(), &head, sizeof head);
    if (!payload.empty())
        std::memcpy(bytes.data() + sizeof head, payload.data(), payload.size());
    return bytes;
}

Bytes text(const std::string& word)
{
    const auto* const first = reinterpret_cast<const std::byte*>(word.c_str());
    return {first, first + word.size() + 1};
}

Bytes number(std::uint64_t value)
{
    Bytes bytes(sizeof value);
    std::memcpy(bytes.data(), &value, sizeof value);
    return bytes;
}

Bytes operator+(Bytes a, const Bytes& b)
{
    a.insert(a.end(), b.begin(), b.end());
    return a;
}

Bytes entry(const std::string& name, std::uint64_t count)
{
    return attribute(RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY | NLA_F_NESTED,
                     attribute(RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY_NAME, text(name)) +
                         attribute(RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY_CURR, number(count)));
}

Bytes message(const std::string& device, const Bytes& entries)
{
    const Bytes payload = attribute(RDMA_NLDEV_ATTR_DEV_NAME, text(device)) +
                          attribute(RDMA_NLDEV_ATTR_RES_SUMMARY | NLA_F_NESTED, entries);
    nlmsghdr head{};
    head.nlmsg_len = static_cast<std::uint32_t>(sizeof head + payload.size());
    head.nlmsg_type = RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_RES_GET);
    Bytes bytes(sizeof head);
    std::memcpy(bytes.data(), &head, sizeof head);
    return bytes + payload;
}

TEST(VerbsResources, AreCountedForTheDeviceThatIsAskedFor)
{
    const Bytes answer = message("mlx5_0", entry("pd", 4) + entry("mr", 77) + entry("qp", 5)) +
                         message("mlx5_1", entry("mr", 1'000'000'000'000));
    EXPECT_EQ(regions_in(answer, "mlx5_0"), 77U);
    EXPECT_EQ(regions_in(answer, "mlx5_1"), 1'000'000'000'000U);
    EXPECT_EQ(regions_in(answer, "mlx5"), std::nullopt);
    EXPECT_EQ(regions_in(message("mlx5_0", entry("pd", 4)), "mlx5_0"), std::nullopt);
}

TEST(VerbsResources, OfAnAnswerThatIsCutOffAnywhereAreNotReadBeyondItsEnd)
{
    const Bytes answer = message("mlx5_0", entry("pd", 4) + entry("mr", 77));
    for (std::size_t length = 0; length < answer.size(); ++length) {
        const Bytes cut(answer.begin(), answer.begin() + static_cast<std::ptrdiff_t>(length));
        EXPECT_EQ(regions_in(cut, "mlx5_0"), std::nullopt) << length;
    }
    // And lengths that lie.
    for (std::size_t at = 0; at < answer.size(); ++at) {
        Bytes damaged = answer;
        damaged[at] = std::byte{0xff};
        static_cast<void>(regions_in(damaged, "mlx5_0"));
        damaged[at] = std::byte{0};
        static_cast<void>(regions_in(damaged, "mlx5_0"));
    }
}

} // namespace
} // namespace mrz::verbs
