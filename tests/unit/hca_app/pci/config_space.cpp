// SPDX-License-Identifier: BSD-3-Clause
#include "pci/config_space.hpp"

#include "support/refusal.hpp"

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <vector>

#include <linux/pci_regs.h>

namespace mrz::pci {
namespace {

constexpr Function some{.vendor = 0x15b3,
                        .device = 0x1019,
                        .subsystem_vendor = 0x15b3,
                        .subsystem = 7,
                        .revision = 1,
                        .class_code = 0x02'0700,
                        .bar_bytes = 32_MiB,
                        .vectors = 32,
                        .msix_table = 0x2000,
                        .msix_pending = 0x3000};

class ConfigSpaceTest : public testing::Test {
  protected:
    std::uint32_t read(std::uint64_t at, std::size_t length = 4) const
    {
        std::array<std::byte, 4> bytes{};
        space.read(at, std::span{bytes}.first(length));
        return std::to_integer<std::uint32_t>(bytes[0]) | std::to_integer<std::uint32_t>(bytes[1]) << 8 |
               std::to_integer<std::uint32_t>(bytes[2]) << 16 | std::to_integer<std::uint32_t>(bytes[3]) << 24;
    }
    bool write(std::uint64_t at, std::uint32_t value, std::size_t length = 4)
    {
        std::array<std::byte, 4> bytes{};
        for (std::size_t i = 0; i < 4; ++i)
            bytes[i] = static_cast<std::byte>(value >> (8 * i));
        return space.write(at, std::span{bytes}.first(length));
    }
    //! Where the list of capabilities has one; 0: not at all.
    std::uint64_t capability(std::uint32_t id) const
    {
        std::uint64_t at = read(PCI_CAPABILITY_LIST, 1);
        for (int i = 0; at != 0 && i < 48; ++i) {
            if (read(at, 1) == id)
                return at;
            at = read(at + 1, 1);
        }
        return 0;
    }

    ConfigSpace space{some};
};

TEST_F(ConfigSpaceTest, SaysWhatTheFunctionIs)
{
    EXPECT_EQ(read(PCI_VENDOR_ID), 0x1019'15b3u);
    EXPECT_EQ(read(PCI_CLASS_REVISION), 0x0207'0001u);
    EXPECT_EQ(read(PCI_SUBSYSTEM_VENDOR_ID), 0x0007'15b3u);
    EXPECT_EQ(read(PCI_HEADER_TYPE, 1), 0u);
    EXPECT_EQ(read(PCI_STATUS, 2), unsigned{PCI_STATUS_CAP_LIST});
}

TEST_F(ConfigSpaceTest, TellsTheSizeOfItsBar)
{
    (void)write(PCI_BASE_ADDRESS_0, ~0U);
    (void)write(PCI_BASE_ADDRESS_1, ~0U);
    EXPECT_EQ(read(PCI_BASE_ADDRESS_0), 0xfe00'000cu);
    EXPECT_EQ(read(PCI_BASE_ADDRESS_1), 0xffff'ffffu);
    for (const std::uint64_t none : {PCI_BASE_ADDRESS_2, PCI_BASE_ADDRESS_5, PCI_ROM_ADDRESS}) {
        (void)write(none, ~0U);
        EXPECT_EQ(read(none), 0u);
    }
    (void)write(PCI_BASE_ADDRESS_0, 0xe200'0000);
    (void)write(PCI_BASE_ADDRESS_1, 0x80);
    EXPECT_EQ(space.bar(), 0x80'e200'0000u);
}

TEST_F(ConfigSpaceTest, LetsTheGuestEnableIt)
{
    EXPECT_FALSE(space.memory_enabled() || space.bus_master());
    (void)write(PCI_COMMAND, PCI_COMMAND_MEMORY, 1);
    EXPECT_TRUE(space.memory_enabled());
    EXPECT_FALSE(space.bus_master());
    (void)write(PCI_COMMAND, 0xffff, 2);
    EXPECT_TRUE(space.bus_master());
    EXPECT_EQ(read(PCI_COMMAND, 2), 0x0546u);
}

TEST_F(ConfigSpaceTest, HasCapabilitiesOfAnEndpoint)
{
    const std::uint64_t express = capability(PCI_CAP_ID_EXP);
    const std::uint64_t msix = capability(PCI_CAP_ID_MSIX);
    const std::uint64_t power = capability(PCI_CAP_ID_PM);
    ASSERT_TRUE(express != 0 && msix != 0 && power != 0);
    EXPECT_EQ(read(express + PCI_EXP_FLAGS, 2), 2u);
    EXPECT_NE(read(express + PCI_EXP_DEVCAP) & PCI_EXP_DEVCAP_FLR, 0u);
    EXPECT_EQ(read(msix + PCI_MSIX_FLAGS, 2), 31u);
    EXPECT_EQ(read(msix + PCI_MSIX_TABLE), 0x2000u);
    EXPECT_EQ(read(msix + PCI_MSIX_PBA), 0x3000u);
    EXPECT_EQ(capability(PCI_CAP_ID_MSI), 0u);
    EXPECT_EQ(read(0x100), 0u); // no extended capability
    (void)write(msix + PCI_MSIX_FLAGS, 0xffff, 2);
    EXPECT_EQ(read(msix + PCI_MSIX_FLAGS, 2), 0xc01fu);
}

TEST_F(ConfigSpaceTest, IsResetByTheFunctionLevelResetOnly)
{
    const std::uint64_t control = capability(PCI_CAP_ID_EXP) + PCI_EXP_DEVCTL;
    EXPECT_FALSE(write(control, 0x7fff, 2));
    EXPECT_TRUE(write(control, 0x8000, 2));
    EXPECT_TRUE(write(control + 1, 0x80, 1));
    EXPECT_FALSE(write(control, 0x80, 1));
    EXPECT_TRUE(write(control - 2, 0x8000'0000));
    EXPECT_EQ(read(control, 2) & PCI_EXP_DEVCTL_BCR_FLR, 0u);

    (void)write(PCI_COMMAND, 6, 2);
    (void)write(PCI_BASE_ADDRESS_0, 0xe200'0000);
    space.reset();
    EXPECT_FALSE(space.bus_master());
    EXPECT_EQ(read(PCI_BASE_ADDRESS_0), 0xcu);
}

TEST_F(ConfigSpaceTest, KnowsTheStatesD0AndD3Only)
{
    const std::uint64_t control = capability(PCI_CAP_ID_PM) + PCI_PM_CTRL;
    (void)write(control, 3, 2);
    EXPECT_EQ(read(control, 2), 3u | PCI_PM_CTRL_NO_SOFT_RESET);
    (void)write(control, 1, 2);
    EXPECT_EQ(read(control, 2) & 3, 3u);
    (void)write(control, 0, 2);
    EXPECT_EQ(read(control, 2) & 3, 0u);
}

TEST_F(ConfigSpaceTest, KeepsWhatMayNotBeWritten)
{
    // Fields that a guest may write: offset -> bits of a byte.
    const std::uint64_t express = capability(PCI_CAP_ID_EXP);
    const std::map<std::uint64_t, unsigned> writable{{PCI_COMMAND, 0x46},
                                                     {PCI_COMMAND + 1, 0x05},
                                                     {PCI_CACHE_LINE_SIZE, 0xff},
                                                     {PCI_BASE_ADDRESS_0 + 3, 0xfe},
                                                     {PCI_BASE_ADDRESS_1, 0xff},
                                                     {PCI_BASE_ADDRESS_1 + 1, 0xff},
                                                     {PCI_BASE_ADDRESS_1 + 2, 0xff},
                                                     {PCI_BASE_ADDRESS_1 + 3, 0xff},
                                                     {PCI_INTERRUPT_LINE, 0xff},
                                                     {capability(PCI_CAP_ID_PM) + PCI_PM_CTRL, 3},
                                                     {express + PCI_EXP_DEVCTL, 0xff},
                                                     {express + PCI_EXP_DEVCTL + 1, 0x79},
                                                     {express + PCI_EXP_LNKCTL, 0xcb},
                                                     {express + PCI_EXP_DEVCTL2, 0x10},
                                                     {express + PCI_EXP_LNKCTL2, 0x0f},
                                                     {capability(PCI_CAP_ID_MSIX) + PCI_MSIX_FLAGS + 1, 0xc0}};
    for (std::uint64_t at = 0; at < ConfigSpace::bytes; ++at) {
        const unsigned before = read(at, 1);
        (void)write(at, ~before, 1);
        const auto found = writable.find(at);
        EXPECT_EQ(read(at, 1) ^ before, found == writable.end() ? 0 : found->second) << at;
    }
}

TEST_F(ConfigSpaceTest, IsReadAndWrittenInAnyPieces)
{
    std::vector<std::byte> whole(ConfigSpace::bytes);
    space.read(0, whole);
    EXPECT_FALSE(space.write(0, whole)); // as it is
    EXPECT_EQ(read(PCI_VENDOR_ID), 0x1019'15b3u);
    std::array<std::byte, 3> three{};
    space.read(ConfigSpace::bytes - 3, three);
    EXPECT_EQ(three[2], std::byte{0});
}

TEST(ConfigSpaceFunctions, ThatCannotBeAreRefused)
{
    const auto refused = [](auto change) {
        Function function = some;
        change(function);
        return test::refusal([&] { const ConfigSpace none{function}; }).error_number() == EINVAL;
    };
    EXPECT_TRUE(refused([](Function& f) { f.bar_bytes = 3 << 20; }));
    EXPECT_TRUE(refused([](Function& f) { f.bar_bytes = 2048; }));
    EXPECT_TRUE(refused([](Function& f) { f.vectors = 0; }));
    EXPECT_TRUE(refused([](Function& f) { f.vectors = 2049; }));
    EXPECT_TRUE(refused([](Function& f) { f.msix_table = 0x2004; }));
    EXPECT_TRUE(refused([](Function& f) { f.msix_pending = 0x2008; }));
    EXPECT_TRUE(refused([](Function& f) { f.msix_table = 32 << 20; }));
}

} // namespace
} // namespace mrz::pci
