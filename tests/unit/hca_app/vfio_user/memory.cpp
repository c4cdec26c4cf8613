// SPDX-License-Identifier: BSD-3-Clause
// The guest's memory, as clients map and unmap it.
#include "unit/hca_app/shared_file.hpp"
#include "unit/hca_app/vfio_user/served_device.hpp"

#include <gmock/gmock.h>

#include <mutex>
#include <string>

namespace mrz::test {
namespace {

using namespace vfio_user;

class VfioUserMemory : public ServedDevice {
  protected:
    VfioUserMemory() { (void)client.agree(); }

    SharedFile ram{1_MiB};
    Client client{server.path()};
};

TEST_F(VfioUserMemory, ComesAndGoes)
{
    ASSERT_EQ(client.map(0x1000, 0x2000, ram.fd(), 0x4000), 0);
    ram[0x4001] = std::byte{7};
    std::array<std::byte, 1> byte{};
    ASSERT_TRUE(dma::read(memory, DmaAddress{0x1001}, byte));
    EXPECT_EQ(byte[0], std::byte{7});
    EXPECT_EQ(client.map(0x2000, 0x1000, ram.fd()), EEXIST);
    EXPECT_EQ(client.unmap(0x1000, 0x1000), EINVAL);
    EXPECT_EQ(client.unmap(0x8000, 0x1000), ENOENT);
    EXPECT_EQ(client.unmap(0x1000, 0x2000), 0);
    EXPECT_FALSE(dma::read(memory, DmaAddress{0x1001}, byte));
}

TEST_F(VfioUserMemory, AllGoesAtOnce)
{
    ASSERT_EQ(client.map(0x1000, 0x1000, ram.fd()), 0);
    ASSERT_EQ(client.map(0x9000, 0x1000, ram.fd()), 0);
    EXPECT_EQ(client.unmap(0x1000, 0x1000, 2), EINVAL);
    EXPECT_EQ(client.unmap(0, 0, 1), EINVAL);
    EXPECT_EQ(client.unmap(0, 0, 2), 0);
    EXPECT_EQ(memory.counts().ranges, 0u);
}

TEST_F(VfioUserMemory, IsSplitWhileItIsUsed)
{
    std::atomic<bool> ended = false;
    std::thread user{[&] {
        std::array<std::byte, 64> bytes{};
        while (!ended)
            (void)dma::write(memory, DmaAddress{0x1'0000}, bytes);
    }};
    // As QEMU does when firmware toggles what is ROM.
    for (int i = 0; i < 200; ++i) {
        ASSERT_EQ(client.map(0, 0x10'0000, ram.fd()), 0);
        ASSERT_EQ(client.unmap(0, 0x10'0000), 0);
        ASSERT_EQ(client.map(0, 0x1'0000, ram.fd()), 0);
        ASSERT_EQ(client.map(0x1'0000, 0x1'0000, std::nullopt, 0, 1), 0);
        ASSERT_EQ(client.unmap(0x1'0000, 0x1'0000), 0);
        ASSERT_EQ(client.unmap(0, 0x1'0000), 0);
    }
    ended = true;
    user.join();
}

TEST_F(VfioUserMemory, ThatIsNotSharedEndsTheClientAndSaysWhatIsMissing)
{
    std::mutex mutex;
    std::string said;
    set_log_sink([&](Severity, std::string_view line) {
        const std::lock_guard guard{mutex};
        said += line;
    });
    ASSERT_EQ(client.map(0, 0xa'0000, std::nullopt), 0);
    ASSERT_EQ(client.map(0x10'0000, 0x100'0000, std::nullopt), 0);
    EXPECT_EQ(client.call(Command::device_get_info, bytes_of(DeviceInfo{.argsz = sizeof(DeviceInfo)})).error(),
              EINVAL);
    EXPECT_TRUE(client.is_ended());
    stop_server();
    set_log_sink({});
    EXPECT_THAT(said, testing::HasSubstr("share=on"));
}

TEST_F(VfioUserMemory, ThatIsNotSharedEndsTheClientAtTheLatestWhenTheDeviceMayUseIt)
{
    ASSERT_EQ(client.call(Command::device_get_info, bytes_of(DeviceInfo{.argsz = sizeof(DeviceInfo)})).error(), 0);
    ASSERT_EQ(client.map(0, 0xa'0000, std::nullopt), 0);
    EXPECT_EQ(client.write_region(config, 4, std::uint16_t{2}).error(), 0);
    EXPECT_EQ(client.write_region(config, 4, std::uint16_t{6}).error(), EINVAL);
    EXPECT_TRUE(client.is_ended());
}

TEST_F(VfioUserMemory, IsNotMappedWithWrongRights)
{
    EXPECT_EQ(client.map(0, 0x1000, ram.fd(), 0, 0), EINVAL);
    EXPECT_EQ(client.map(0, 0x1000, ram.fd(), 0, 4), EINVAL);
    EXPECT_EQ(client.map(0, 0x1000, ram.fd(), 0, 1), 0);
    {
        const auto held = memory.hold();
        EXPECT_TRUE(memory.memory(DmaAddress{0}, 1, hca::Direction::write).empty());
    }
    const FileDescriptor no_memory{::memfd_create("empty", MFD_CLOEXEC)};
    EXPECT_EQ(client.map(0x1000, 0x1000, no_memory.get()), EINVAL);
}

} // namespace
} // namespace mrz::test
