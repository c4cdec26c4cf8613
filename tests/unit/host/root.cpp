// SPDX-License-Identifier: BSD-3-Clause
#include "made_up_root.hpp"

#include <algorithm>

using namespace mrz::host;

using HostRoot = Host;

TEST_F(HostRoot, LooksUpAbsolutePathsUnderItsPrefix)
{
    EXPECT_EQ(Root{"/made/up"}("/proc/self/status"), "/made/up/proc/self/status");
    EXPECT_EQ(Root{}("/proc/self/status"), "/proc/self/status");
    EXPECT_EQ(Root{"/made/up"}("/"), "/made/up");
}

TEST_F(HostRoot, ReadsAWholeTextOfAnySize)
{
    const std::string large(100'000, 'x');
    files.write("/large", large);
    files.write("/empty", "");
    EXPECT_EQ(root.text("/large"), large);
    EXPECT_EQ(root.text("/empty"), "");
}

TEST_F(HostRoot, ReadsFilesWhoseSizeIsSaidToBeZero)
{
    const auto text = Root{}.text("/proc/self/status");
    ASSERT_TRUE(text);
    EXPECT_NE(text->find("\nVmRSS:"), std::string::npos);
    EXPECT_TRUE(text->ends_with('\n'));
}

TEST_F(HostRoot, HasNoTextWhereNoneCanBeRead)
{
    files.make_unreadable("/folder");
    EXPECT_EQ(root.text("/folder"), std::nullopt);
    EXPECT_EQ(root.text("/missing"), std::nullopt);
    EXPECT_EQ(root.number("/missing"), std::nullopt);
}

TEST_F(HostRoot, TakesOneUnsignedDecimalNumber)
{
    const std::pair<std::string_view, std::uint64_t> numbers[] = {
        {"0", 0}, {"17\n", 17}, {"00017\n", 17}, {"18446744073709551615\n", ~std::uint64_t{0}}};
    for (const auto& [text, value] : numbers) {
        files.write("/number", text);
        EXPECT_EQ(root.number("/number"), value) << text;
    }
}

TEST_F(HostRoot, RefusesWhatIsNotOneNumber)
{
    using namespace std::string_view_literals;
    for (const std::string_view text : {""sv, "\n"sv, "-1\n"sv, "+1\n"sv, " 1\n"sv, "1 \n"sv, "1\n\n"sv, "1\n2\n"sv,
                                        "0x10\n"sv, "max\n"sv, "1k"sv, "1\0"sv, "18446744073709551616\n"sv}) {
        files.write("/number", text);
        EXPECT_EQ(root.number("/number"), std::nullopt) << text;
    }
}

TEST_F(HostRoot, NamesWhatIsInAFolder)
{
    files.write("/folder/one", "");
    files.write("/folder/.two", "");
    files.write("/folder/three/four", "");
    auto names = root.names("/folder");
    ASSERT_TRUE(names);
    std::ranges::sort(*names);
    EXPECT_EQ(*names, (std::vector<std::string>{".two", "one", "three"}));
    EXPECT_EQ(root.names("/folder/three/four"), std::nullopt);
    EXPECT_EQ(root.names("/missing"), std::nullopt);
}
