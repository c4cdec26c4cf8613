// SPDX-License-Identifier: BSD-3-Clause
#include "made_up_root.hpp"

using namespace mrz::host;

using HostKernel = Host;

TEST_F(HostKernel, RegistersTwoGigabytePagesFrom6_13On)
{
    const std::pair<std::string_view, unsigned> releases[] = {
        {"6.1.0-30-amd64\n", 30}, {"5.14.0-503.el9.x86_64\n", 30}, {"6.12.99\n", 30}, {"6.13.0\n", 31},
        {"6.13-rc1\n", 31},       {"6.18.44-custom\n", 31},        {"7.0\n", 31},     {"10.0.1\n", 31}};
    for (const auto& [release, shift] : releases) {
        files.write("/proc/sys/kernel/osrelease", release);
        EXPECT_EQ(max_registration_shift(root).value(), shift) << release;
    }
}

TEST_F(HostKernel, IsTakenForAnOldOneWhereTheVersionCannotBeRead)
{
    EXPECT_EQ(max_registration_shift(root).value(), 30u);
    for (const std::string_view release :
         {"", "\n", "7", "7.", "7.x", ".13", "v6.13", "six.13.0", "99999999999999999999.1"}) {
        files.write("/proc/sys/kernel/osrelease", release);
        EXPECT_EQ(max_registration_shift(root).value(), 30u) << release;
    }
}
