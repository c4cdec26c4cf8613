// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! mrz demo in a guest that has an adapter of mlx5.
#include "system/apps/mrz_program.hpp"

namespace mrz::test {
namespace {

class MrzDemoOnMlx5 : public MrzProgram {};

TEST_F(MrzDemoOnMlx5, TakesTheAdapterByItself)
{
    const auto [status, object] = mrz_json({"demo", "--size", "64M", "--seconds", "0.5"});
    ASSERT_EQ(status, 0) << object;
    EXPECT_EQ(object.at("device"), "mlx5_0");
    EXPECT_EQ(object.at("driver"), "mlx5");
    EXPECT_NE(object.at("reason").get<std::string>().find("the first device of driver mlx5"), std::string::npos);
    EXPECT_GT(object.at("ops"), 0);
    for (const char* const way : {"arena", "dpdk"})
        EXPECT_EQ(object.at(way).at("built_entries"), object.at(way).at("mtt_entries")) << way;
    EXPECT_LE(object.at("arena").at("mtt_entries"), object.at("dpdk").at("mtt_entries"));
    ASSERT_EQ(object.at("refused").size(), 3U);
    for (const Json& refused : object.at("refused"))
        EXPECT_EQ(refused.at("status"), "remote access error") << refused;
}

} // namespace
} // namespace mrz::test
