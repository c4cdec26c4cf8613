// SPDX-License-Identifier: BSD-3-Clause
// What clients that do not behave get, and what they leave behind: nothing.
#include "unit/hca_app/shared_file.hpp"
#include "unit/hca_app/vfio_user/served_device.hpp"

#include <gmock/gmock.h>

namespace mrz::test {
namespace {

using namespace vfio_user;

class VfioUserHostile : public ServedDevice {
  protected:
    Client agreed()
    {
        Client client{server.path()};
        (void)client.agree();
        return client;
    }
    static Bytes message_of(Header header, const Bytes& payload = {})
    {
        Bytes message = bytes_of(header);
        message.insert(message.end(), payload.begin(), payload.end());
        return message;
    }
};

TEST_F(VfioUserHostile, SizesThatAreNoneEndTheClient)
{
    for (const std::uint32_t size : {0U, 15U, most_message + 1, ~0U}) {
        const Client client = agreed();
        client.send_raw(message_of({1, Command::device_reset, size, 0, 0}));
        EXPECT_TRUE(client.is_ended()) << size;
    }
    EXPECT_EQ(agreed().read_region(bar, 0, 1).error(), 0);
}

TEST_F(VfioUserHostile, RepliesAndUnknownTypesEndTheClient)
{
    for (const std::uint32_t flags : {1U, 2U, 15U, type_reply | flag_error}) {
        const Client client = agreed();
        client.send_raw(message_of({1, Command::device_reset, 16, flags, 0}));
        EXPECT_TRUE(client.is_ended()) << flags;
    }
}

TEST_F(VfioUserHostile, TheVersionIsFirstAndOnce)
{
    Client early{server.path()};
    EXPECT_EQ(early.read_region(bar, 0, 1).error(), EINVAL);
    EXPECT_TRUE(early.is_ended());
    Client late = agreed();
    EXPECT_EQ(late.agree().error(), EINVAL);
    EXPECT_TRUE(late.is_ended());
    Client other{server.path()};
    EXPECT_EQ(other.call(Command::version, bytes_of(Version{1, 0})).error(), EINVAL);
    EXPECT_TRUE(other.is_ended());
}

TEST_F(VfioUserHostile, CapabilitiesAreJson)
{
    for (const char* const text :
         {"", "{", "[]", "1", R"({"capabilities": 5})", R"({"capabilities": [[[[)", "\xff"}) {
        Client client{server.path()};
        EXPECT_EQ(client.agree(text).error(), EINVAL) << text;
        EXPECT_EQ(client.agree().error(), 0) << text; // it may say it better
    }
    const std::string deep(60'000, '[');
    EXPECT_EQ(Client{server.path()}.agree(deep).error(), EINVAL);
    for (const char* const text : {"{}", R"({"capabilities": {"write_multiple": 7, "max_msg_fds": "many"}})"})
        EXPECT_EQ(Client{server.path()}.agree(text).error(), 0) << text;
}

TEST_F(VfioUserHostile, PayloadsOfAnotherLengthAreRefused)
{
    Client client = agreed();
    for (const Command command :
         {Command::dma_map, Command::dma_unmap, Command::device_get_info, Command::device_get_region_info,
          Command::device_get_irq_info, Command::device_set_irqs, Command::region_read, Command::region_write,
          Command::region_write_multi}) {
        for (const std::size_t length : {0U, 1U, 7U, 15U, 19U, 23U, 31U, 33U, 64U, most_message - 16U})
            EXPECT_NE(client.call(command, Bytes(length)).error(), 0) << static_cast<int>(command) << ' ' << length;
    }
    EXPECT_EQ(client.call(Command::device_reset, Bytes(1)).error(), EINVAL);
    EXPECT_EQ(client.read_region(bar, 0, 1).error(), 0);
}

TEST_F(VfioUserHostile, AccessesOutsideOfRegionsAreRefused)
{
    Client client = agreed();
    constexpr std::uint64_t last = ~std::uint64_t{0};
    EXPECT_EQ(client.read_region(bar, 0xffff, 1).error(), 0);
    EXPECT_EQ(client.read_region(bar, 0, most_data).error(), 0);
    EXPECT_EQ(client.read_region(bar, 0xffff, 2).error(), EINVAL);
    EXPECT_EQ(client.read_region(bar, 0x1'0000, 1).error(), EINVAL);
    EXPECT_EQ(client.read_region(bar, last, 1).error(), EINVAL);
    EXPECT_EQ(client.read_region(bar, 0, 0).error(), EINVAL);
    EXPECT_EQ(client.read_region(bar, 0, most_data + 1).error(), EINVAL);
    EXPECT_EQ(client.read_region(bar, last - 3, ~0U).error(), EINVAL);
    EXPECT_EQ(client.read_region(config, 4095, 2).error(), EINVAL);
    for (const std::uint32_t region : {1U, 6U, 8U, 9U, ~0U}) {
        EXPECT_EQ(client.read_region(region, 0, 1).error(), EINVAL) << region;
        EXPECT_EQ(client.write_region(region, 0, std::uint8_t{1}).error(), EINVAL) << region;
    }
    EXPECT_EQ(client.write_region(bar, 0xfffd, std::uint32_t{1}).error(), EINVAL);
    EXPECT_EQ(client.write_region(config, last, std::uint8_t{1}).error(), EINVAL);
    EXPECT_EQ(client.call(Command::region_write, bytes_of(RegionAccess{0, bar, 8}, std::uint32_t{1})).error(),
              EINVAL);
    EXPECT_EQ(client.call(Command::region_write, bytes_of(RegionAccess{0, bar, 0})).error(), EINVAL);
}

TEST_F(VfioUserHostile, ManyWritesAreCountedAndBounded)
{
    Client client = agreed();
    const auto write_multi = [&](std::uint64_t count, RegionAccess access) {
        return client.call(Command::region_write_multi, bytes_of(WriteMulti{count}, access, std::uint64_t{0}))
            .error();
    };
    EXPECT_EQ(write_multi(1, {0, bar, 8}), 0);
    EXPECT_EQ(write_multi(0, {0, bar, 8}), EINVAL);
    EXPECT_EQ(write_multi(2, {0, bar, 8}), EINVAL);
    EXPECT_EQ(write_multi(~std::uint64_t{0}, {0, bar, 8}), EINVAL);
    EXPECT_EQ(write_multi(1, {0, bar, 9}), EINVAL);
    EXPECT_EQ(write_multi(1, {0xffff, bar, 8}), EINVAL);
}

TEST_F(VfioUserHostile, UnknownThingsAreRefused)
{
    Client client = agreed();
    for (const unsigned command : {0U, 6U, 11U, 12U, 14U, 16U, 17U, 0xffffU})
        EXPECT_EQ(client.call(static_cast<Command>(command), {}).error(), ENOTSUP) << command;
    EXPECT_EQ(client.call(Command::device_get_info, bytes_of(DeviceInfo{.argsz = 15})).error(), EINVAL);
    EXPECT_EQ(client.call(Command::device_get_region_info, bytes_of(RegionInfo{.argsz = 32, .index = 9})).error(),
              EINVAL);
    EXPECT_EQ(client.call(Command::device_get_irq_info, bytes_of(IrqInfo{.argsz = 16, .index = 5})).error(), EINVAL);
}

TEST_F(VfioUserHostile, DescriptorsThatNobodyTakesAreClosed)
{
    const SharedFile file{0x1000};
    std::size_t before = 0;
    {
        Client client = agreed();
        before = open_files();
        const std::array one{file.fd()};
        const std::vector<int> many(200, file.fd());
        EXPECT_EQ(client.call(Command::device_reset, {}, one).error(), EINVAL);
        EXPECT_EQ(client.call(Command::region_read, bytes_of(RegionAccess{0, bar, 1}), many).error(), EINVAL);
        EXPECT_EQ(client.call(Command::dma_map, bytes_of(DmaMap{32, 3, 0, 0, 0x1000}), many).error(), EINVAL);
        EXPECT_EQ(client.map(0, 0x1000, file.fd()), 0);
        EXPECT_EQ(client.map(0, 0x1000, file.fd()), EEXIST);
        EXPECT_EQ(client.call(Command::device_set_irqs, bytes_of(IrqSet{20, 0x24, 2, 0, 1}), one).error(), EINVAL);
        EXPECT_EQ(open_files(), before); // a mapping needs no descriptor
        // A message that never ends, with a descriptor at its beginning.
        client.send_raw(bytes_of(Header{1, Command::dma_map, 48, 0, 0}), one);
    }
    const Client next = agreed();
    EXPECT_EQ(open_files(), before);
}

TEST_F(VfioUserHostile, WhoDoesNotReadDoesNotStopTheServer)
{
    Client client = agreed();
    // Answers that nobody takes fill the socket; the server waits for room, and for its end.
    const Bytes request = message_of({1, Command::region_read, 32, 0, 0}, bytes_of(RegionAccess{0, bar, most_data}));
    for (int i = 0; i < 20; ++i)
        client.send_raw(request);
    stop_server();
    EXPECT_EQ(memory.counts().ranges, 0u);
}

TEST_F(VfioUserHostile, WhoIsSilentKeepsOthersWaitingOnly)
{
    const Client silent = agreed();
    Client next{server.path()};
    {
        Client gone{server.path()};
    }
    stop_server();
    EXPECT_TRUE(silent.is_ended());
}

} // namespace
} // namespace mrz::test
