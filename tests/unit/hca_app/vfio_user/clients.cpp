// SPDX-License-Identifier: BSD-3-Clause
// What clients that behave get.
#include "unit/hca_app/shared_file.hpp"
#include "unit/hca_app/vfio_user/served_device.hpp"

#include <gmock/gmock.h>

#include <string>

#include <linux/vfio.h>

namespace mrz::test {
namespace {

using namespace vfio_user;

class VfioUserClients : public ServedDevice {
  protected:
    Client client{server.path()};
};

std::string text_of(const Reply& version)
{
    const auto* const text = reinterpret_cast<const char*>(version.payload.data()) + sizeof(Version);
    return {text, version.payload.size() - sizeof(Version)};
}

TEST_F(VfioUserClients, AgreeOnAVersion)
{
    const Reply reply = client.agree();
    ASSERT_EQ(reply.error(), 0);
    EXPECT_EQ(reply.as<Version>().major, 0);
    EXPECT_EQ(reply.payload.back(), std::byte{0});
    EXPECT_THAT(text_of(reply), testing::HasSubstr(R"("max_msg_fds":8)"));
    EXPECT_THAT(text_of(reply), testing::HasSubstr(R"("write_multiple":true)"));
}

TEST_F(VfioUserClients, AreNotOfferedWhatTheyDoNotKnow)
{
    EXPECT_THAT(text_of(client.agree(R"({"capabilities": {}})")), testing::Not(testing::HasSubstr("write_multiple")));
    EXPECT_EQ(client.call(Command::region_write_multi, bytes_of(WriteMulti{0})).error(), ENOTSUP);
}

TEST_F(VfioUserClients, AreAnsweredInTheOrderOfQemu)
{
    const SharedFile ram{2_MiB};
    ASSERT_EQ(client.agree().error(), 0);
    // vfio_listener_register(): memory, and a ROM without a file.
    ASSERT_EQ(client.map(0, 0xc'0000, ram.fd()), 0);
    ASSERT_EQ(client.map(0xc'0000, 0x4'0000, std::nullopt, 0, 1), 0);
    ASSERT_EQ(client.map(0x10'0000, 0x10'0000, ram.fd(), 0x10'0000), 0);

    const auto device_info =
        client.call(Command::device_get_info, bytes_of(DeviceInfo{.argsz = sizeof(DeviceInfo)})).as<DeviceInfo>();
    EXPECT_EQ(device_info.flags, VFIO_DEVICE_FLAGS_PCI | VFIO_DEVICE_FLAGS_RESET);
    EXPECT_EQ(device_info.regions, 9u);
    EXPECT_EQ(device_info.irqs, 5u);

    for (std::uint32_t index = 0; index < 9; ++index) {
        const Reply reply = client.call(Command::device_get_region_info,
                                        bytes_of(RegionInfo{.argsz = sizeof(RegionInfo), .index = index}));
        ASSERT_EQ(reply.payload.size(), sizeof(RegionInfo));
        const auto info = reply.as<RegionInfo>();
        EXPECT_EQ(info.index, index);
        EXPECT_EQ(info.size, index == bar ? 1U << 16 : index == config ? 4096U : 0U);
        EXPECT_EQ(info.flags, info.size != 0 ? 3u : 0u); // read and write, no mmap
    }
    for (std::uint32_t index = 0; index < 5; ++index) {
        const auto info =
            client.call(Command::device_get_irq_info, bytes_of(IrqInfo{.argsz = sizeof(IrqInfo), .index = index}))
                .as<IrqInfo>();
        EXPECT_EQ(info.count, index == VFIO_PCI_MSIX_IRQ_INDEX ? 16u : 0u);
    }
    const Reply whole = client.read_region(config, 0, 4096);
    EXPECT_EQ(whole.payload.size(), sizeof(RegionAccess) + 4096);
    EXPECT_EQ(client.call(Command::device_reset, {}).error(), 0);
    EXPECT_EQ(device.resets, 1);
}

TEST_F(VfioUserClients, ReadWhatTheyWrote)
{
    (void)client.agree();
    EXPECT_EQ(client.write_region(bar, 0x14, std::uint32_t{0x1234'5678}).as<RegionAccess>().count, 4u);
    EXPECT_EQ(client.write_region(config, 0x3c, std::uint8_t{5}).error(), 0);
    const Reply reply = client.read_region(bar, 0x12, 8);
    EXPECT_EQ(reply.as<RegionAccess>().offset, 0x12u);
    EXPECT_EQ(reply.payload.size(), sizeof(RegionAccess) + 8);
    EXPECT_EQ(reply.payload[sizeof(RegionAccess) + 2], std::byte{0x78});
    EXPECT_EQ(client.read_region(config, 0x3c, 1).payload.back(), std::byte{5});
}

TEST_F(VfioUserClients, WriteWithoutAnAnswerAndManyAtOnce)
{
    (void)client.agree();
    for (std::uint64_t i = 0; i < 1000; ++i)
        client.send(Command::region_write, bytes_of(RegionAccess{8 * i, bar, 8}, i), {}, flag_no_reply);
    const Reply many = client.call(Command::region_write_multi,
                                   bytes_of(WriteMulti{2}, RegionAccess{8, bar, 4}, std::uint64_t{0xffff'ffff'7777},
                                            RegionAccess{9, bar, 1}, std::uint64_t{1}));
    EXPECT_EQ(many.as<WriteMulti>().count, 2u);
    const Reply last = client.read_region(bar, 8 * 999, 2);
    EXPECT_EQ(last.payload[sizeof(RegionAccess)], std::byte{999 & 0xff});
    const Reply first = client.read_region(bar, 8, 2);
    EXPECT_EQ(first.payload[sizeof(RegionAccess)], std::byte{0x77});
    EXPECT_EQ(first.payload[sizeof(RegionAccess) + 1], std::byte{1});
}

TEST_F(VfioUserClients, MaySendAMessageInPieces)
{
    (void)client.agree();
    const SharedFile ram{0x1000};
    const Bytes payload = bytes_of(DmaMap{32, 3, 0, 0x5000, 0x1000});
    const Bytes message = [&] {
        Bytes whole = bytes_of(Header{7, Command::dma_map, 48, 0, 0});
        whole.insert(whole.end(), payload.begin(), payload.end());
        return whole;
    }();
    const std::array files{ram.fd()};
    client.send_raw(std::span{message}.first(5), files);
    for (std::size_t at = 5; at < message.size(); ++at)
        client.send_raw(std::span{message}.subspan(at, 1));
    const auto reply = client.receive();
    ASSERT_TRUE(reply);
    EXPECT_EQ(reply->error(), 0);
    const auto held = memory.hold();
    EXPECT_EQ(memory.memory(DmaAddress{0x5000}, 1, hca::Direction::read).size(), 1u);
}

TEST_F(VfioUserClients, AreFollowedByTheNextWhoFindsNothingLeft)
{
    const SharedFile ram{0x1000};
    {
        Client first = std::move(client);
        (void)first.agree();
        ASSERT_EQ(first.map(0, 0x1000, ram.fd()), 0);
        (void)first.write_region(bar, 0, std::uint8_t{9});
        ASSERT_EQ(memory.counts().ranges, 1u);
    }
    Client second{server.path()};
    (void)second.agree();
    EXPECT_EQ(device.resets, 1);
    EXPECT_EQ(memory.counts().ranges, 0u);
    EXPECT_EQ(second.read_region(bar, 0, 1).payload.back(), std::byte{0});
}

TEST_F(VfioUserClients, LoseTheServerWhenItStops)
{
    const SharedFile ram{0x1000};
    (void)client.agree();
    ASSERT_EQ(client.map(0, 0x1000, ram.fd()), 0);
    stop_server();
    EXPECT_TRUE(client.is_ended());
    EXPECT_EQ(memory.counts().ranges, 0u);
    EXPECT_EQ(device.resets, 1);
}

} // namespace
} // namespace mrz::test
