// SPDX-License-Identifier: BSD-3-Clause
#include "adapter.hpp"

#include "unit/hca_app/shared_file.hpp"

#include <gmock/gmock.h>

#include <array>
#include <string>

#include <linux/pci_regs.h>

namespace mrz {
namespace {

using control::Json;

class NoInterrupts final : public vfio_user::Interrupts {
  public:
    void raise(unsigned) noexcept override {}
};

class AdapterTest : public testing::Test {
  protected:
    AdapterTest() { adapter.add_to(commands); }

    std::uint32_t bar(std::uint64_t offset)
    {
        std::array<std::byte, 4> bytes{};
        adapter.read_bar(offset, bytes);
        std::uint32_t value = 0;
        for (const std::byte byte : bytes)
            value = value << 8 | std::to_integer<std::uint32_t>(byte);
        return value;
    }
    std::uint16_t config(std::uint64_t offset)
    {
        std::array<std::byte, 2> bytes{};
        adapter.read_config(offset, bytes);
        return static_cast<std::uint16_t>(std::to_integer<unsigned>(bytes[0]) | std::to_integer<unsigned>(bytes[1])
                                                                                    << 8);
    }
    void set_config(std::uint64_t offset, std::uint16_t value)
    {
        const std::array bytes{static_cast<std::byte>(value), static_cast<std::byte>(value >> 8)};
        adapter.write_config(offset, bytes);
    }
    Json ask(const std::string& line)
    {
        const Json reply = commands.answer(line);
        return reply.contains("answer") ? reply["answer"] : reply;
    }

    dma::Memory memory;
    NoInterrupts interrupts;
    Adapter adapter{{}, memory, interrupts};
    control::Commands commands;
};

TEST_F(AdapterTest, IsAConnectX)
{
    EXPECT_EQ(config(PCI_VENDOR_ID), 0x15b3);
    EXPECT_EQ(config(PCI_DEVICE_ID), 0x1019);
    EXPECT_EQ(config(PCI_CLASS_DEVICE), 0x0207);
    EXPECT_EQ(bar(4) >> 16, 5u); // the command interface that it speaks
    EXPECT_EQ(bar(0x1f'ffffc), 0u);
}

TEST_F(AdapterTest, StandsDoorbellsForNothing)
{
    const std::array<std::byte, 64> bytes{};
    for (const std::uint64_t at : {0x7fe0UL, 0x10'0000UL, 0x10'0ffcUL, 0x10'0800UL, (32UL << 20) - 64})
        adapter.write_bar(at, bytes);
    EXPECT_EQ(ask(R"({"get": "state"})")["stage"], "disabled");
}

TEST_F(AdapterTest, IsResetByItsFunctionsReset)
{
    set_config(PCI_COMMAND, PCI_COMMAND_MASTER);
    EXPECT_EQ(ask(R"({"get": "state"})")["bus_master"], true);
    set_config(0x60 + PCI_EXP_DEVCTL, PCI_EXP_DEVCTL_BCR_FLR);
    EXPECT_EQ(config(PCI_COMMAND), 0);
    EXPECT_EQ(ask(R"({"get": "state"})")["bus_master"], false);
}

TEST_F(AdapterTest, ReachesMemoryOnlyWhileItIsABusMaster)
{
    const test::SharedFile file{4096};
    adapter.exclusively([&] { memory.map({.at = DmaAddress{0x1000}, .bytes = 4096}, file.fd(), 0); });
    const auto reached = [this] { return memory.memory(DmaAddress{0x1000}, 8, hca::Direction::read).size(); };
    EXPECT_EQ(reached(), 0U);
    set_config(PCI_COMMAND, PCI_COMMAND_MASTER);
    EXPECT_EQ(reached(), 8U);
    set_config(PCI_COMMAND, PCI_COMMAND_MEMORY);
    EXPECT_EQ(reached(), 0U);
    set_config(PCI_COMMAND, PCI_COMMAND_MASTER);
    set_config(0x60 + PCI_EXP_DEVCTL, PCI_EXP_DEVCTL_BCR_FLR);
    EXPECT_EQ(reached(), 0U);
    set_config(PCI_COMMAND, PCI_COMMAND_MASTER);
    adapter.reset();
    EXPECT_EQ(reached(), 0U);
    set_config(PCI_COMMAND, PCI_COMMAND_MASTER);
    EXPECT_EQ(reached(), 8U);
    EXPECT_EQ(ask(R"({"set": "removed"})"), true);
    EXPECT_EQ(reached(), 0U);
}

TEST_F(AdapterTest, TakesFaultsOfCompletionsAndALimitOfKeys)
{
    EXPECT_EQ(ask(R"({"set": "completion-fault", "delay": 5, "lose": 2, "cq": 7})"), true);
    EXPECT_EQ(ask(R"({"set": "completion-fault"})"), true);
    EXPECT_TRUE(ask(R"({"set": "completion-fault", "delay": 3600001})").contains("error"));
    EXPECT_TRUE(ask(R"({"set": "completion-fault", "cq": 16777216})").contains("error"));
    EXPECT_EQ(ask(R"({"get": "state"})")["completions"]["lost"], 0);
    EXPECT_EQ(ask(R"({"set": "key-limit", "most": 3})"), true);
    EXPECT_EQ(ask(R"({"set": "key-limit"})"), true);
    EXPECT_TRUE(ask(R"({"set": "key-limit", "most": 16777216})").contains("error"));
}

TEST_F(AdapterTest, AnswersNothingOnceItIsRemoved)
{
    EXPECT_EQ(ask(R"({"set": "removed"})"), true);
    EXPECT_EQ(bar(0), 0xffff'ffffu);
    EXPECT_EQ(config(PCI_VENDOR_ID), 0xffff);
    set_config(PCI_COMMAND, PCI_COMMAND_MASTER);
    adapter.reset(); // the next virtual machine
    EXPECT_EQ(config(PCI_VENDOR_ID), 0x15b3);
    EXPECT_EQ(config(PCI_COMMAND), 0);
}

TEST_F(AdapterTest, ShowsWhatThereIs)
{
    EXPECT_EQ(ask(R"({"get": "counters"})")["operations"]["rdma_write"], 0);
    EXPECT_EQ(ask(R"({"get": "caches"})")["mpt"]["hits"], 0);
    EXPECT_EQ(ask(R"({"get": "memory"})")["ranges"], 0);
    EXPECT_EQ(ask(R"({"get": "keys"})")["keys"].size(), 0u);
    EXPECT_EQ(ask(R"({"get": "links"})"), Json::array());
    EXPECT_EQ(ask(R"({"set": "command-fault", "opcode": 512, "times": 1})"), true);
    EXPECT_TRUE(ask(R"({"set": "command-fault", "opcode": 65536})").contains("error"));
    EXPECT_TRUE(ask(R"({"set": "command-fault"})").contains("error"));
}

TEST_F(AdapterTest, LetsMemoryChangeWhileNobodyUsesIt)
{
    bool changed = false;
    adapter.exclusively([&] { changed = true; });
    EXPECT_TRUE(changed);
}

} // namespace
} // namespace mrz
