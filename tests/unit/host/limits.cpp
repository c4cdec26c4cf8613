// SPDX-License-Identifier: BSD-3-Clause
#include "made_up_root.hpp"

using namespace mrz::host;

namespace {

constexpr std::string_view status = "Name:\tx\n"
                                    "VmLck:\t      12 kB\n"
                                    "VmPin:\t    2048 kB\n"
                                    "CapPrm:\t000001ffffffffff\n"
                                    "CapEff:\t0000000000204000\n"
                                    "CapBnd:\t000001ffffffffff\n";

std::string limits_with(std::string_view locked_memory)
{
    return "Limit                     Soft Limit           Hard Limit           Units     \n"
           "Max cpu time              unlimited            unlimited            seconds   \n"
           "Max locked memory         " +
           std::string{locked_memory} +
           "bytes     \n"
           "Max address space         unlimited            unlimited            bytes     \n";
}

using HostCapabilities = Host;
using HostLockedMemory = Host;

} // namespace

TEST_F(HostCapabilities, AreTheEffectiveOnes)
{
    files.write("/proc/self/status", status);
    EXPECT_EQ(capabilities(root).effective, 0x204000u);
    EXPECT_TRUE(capabilities(root).ipc_lock());
    EXPECT_TRUE(capabilities(root).sys_admin());

    files.write("/proc/self/status", "CapPrm:\t000001ffffffffff\nCapEff:\t000001ffffdfbfff\n");
    EXPECT_FALSE(capabilities(root).ipc_lock());
    EXPECT_FALSE(capabilities(root).sys_admin());
}

TEST_F(HostCapabilities, AreUnknownWhereTheyCannotBeRead)
{
    for (const std::string_view text : {"", "CapEff:\n", "CapEff:\tfull\n", "CapEff:\t0x1\n"}) {
        files.write("/proc/self/status", text);
        EXPECT_EQ(capabilities(root).effective, std::nullopt) << text;
        EXPECT_FALSE(capabilities(root).ipc_lock());
    }
}

TEST_F(HostCapabilities, HoldNothingInAUserNamespaceOfItsOwn)
{
    files.write("/proc/self/status", "CapEff:\t000001ffffffffff\n");
    files.link("/proc/self/ns/user", "user:[4026531837]");
    EXPECT_TRUE(capabilities(root).ipc_lock());
    files.link("/proc/self/ns/user", "user:[4026532201]");
    EXPECT_FALSE(capabilities(root).in_initial_namespace);
    EXPECT_FALSE(capabilities(root).ipc_lock());
    EXPECT_FALSE(capabilities(root).sys_admin());
}

TEST_F(HostLockedMemory, IsInBytes)
{
    files.write("/proc/self/limits", limits_with("8388608              16777216             "));
    files.write("/proc/self/status", "VmLck:\t      12 kB\nVmPin:\t    2048 kB\nCapEff:\t0000000000000000\n");
    const LockedMemory memory = locked_memory(root);
    EXPECT_EQ(memory.soft, Limit::of(8388608));
    EXPECT_EQ(memory.hard, Limit::of(16777216));
    EXPECT_EQ(memory.locked, 12u * 1024);
    EXPECT_EQ(memory.pinned, 2048u * 1024);
    EXPECT_FALSE(memory.exempt);
}

TEST_F(HostLockedMemory, MayBeUnlimitedOrExempt)
{
    files.write("/proc/self/limits", limits_with("0                    unlimited            "));
    files.write("/proc/self/status", status);
    const LockedMemory memory = locked_memory(root);
    EXPECT_EQ(memory.soft, Limit::of(0));
    EXPECT_TRUE(memory.hard.is_unlimited());
    EXPECT_TRUE(memory.exempt);
}

TEST_F(HostLockedMemory, IsUnknownRatherThanZeroOrUnlimited)
{
    EXPECT_TRUE(locked_memory(root).soft.is_unknown());
    EXPECT_EQ(locked_memory(root).pinned, std::nullopt);

    files.write("/proc/self/status", "VmLck:\t      12 MB\nVmPin:\t18446744073709551615 kB\n");
    for (const std::string_view columns : {"8388608 ", "8388608 8388608 x ", "", "-1 -1 "}) {
        files.write("/proc/self/limits", limits_with(columns));
        const LockedMemory memory = locked_memory(root);
        EXPECT_TRUE(memory.soft.is_unknown()) << columns;
        EXPECT_TRUE(memory.hard.is_unknown()) << columns;
        EXPECT_EQ(memory.locked, std::nullopt);
        EXPECT_EQ(memory.pinned, std::nullopt) << "overflow";
    }
}

TEST(LockedMemory, IsSurelyTooLittleOnlyWhereTheLimitIsKnownAndBinds)
{
    LockedMemory memory;
    EXPECT_FALSE(surely_beyond(memory, ~std::uint64_t{0}));
    memory.soft = Limit::of(8 << 20);
    memory.pinned = 3 << 20;
    EXPECT_FALSE(surely_beyond(memory, 5 << 20));
    EXPECT_TRUE(surely_beyond(memory, (5 << 20) + 1));
    EXPECT_TRUE(surely_beyond(memory, ~std::uint64_t{0}));
    memory.pinned = 9 << 20; // the limit was lowered since
    EXPECT_TRUE(surely_beyond(memory, 0));
    memory.exempt = true;
    EXPECT_FALSE(surely_beyond(memory, ~std::uint64_t{0}));
}

TEST(LockedMemory, ACauseAsksForMoreThanThereIs)
{
    LockedMemory memory;
    memory.soft = Limit::of(8 << 20);
    memory.locked = 1 << 20;
    const mrz::Cause beyond = locked_memory_too_small(memory, 16 << 20, "pinning");
    EXPECT_EQ(beyond.trouble, mrz::Trouble::locked_memory);
    EXPECT_EQ(beyond.present, 8U << 20);
    EXPECT_EQ(beyond.need, 17U << 20);
    EXPECT_NE(beyond.remedy.find("ulimit -l 17472"), std::string::npos) << beyond.remedy;
    // Refused although it seemed to fit: others of this user hold the rest.
    EXPECT_EQ(locked_memory_too_small(memory, 1 << 20, "pinning").need, 9U << 20);
}
