// SPDX-License-Identifier: BSD-3-Clause
#include "common/fields.hpp"

#include <gtest/gtest.h>

namespace mrz::app {
namespace {

const Fields fields{{"number", std::uint64_t{7}},
                    {"name", "data"},
                    {"part_0/keys", std::uint64_t{2}},
                    {"part_0/bytes", std::uint64_t{3}},
                    {"2MiB/machine/free", std::uint64_t{4}}};

TEST(FieldsAsJson, HaveAnObjectForEachPart)
{
    EXPECT_EQ(to_json(fields), Json::parse(R"({"number": 7, "name": "data", "part_0": {"keys": 2, "bytes": 3},
                                               "2MiB": {"machine": {"free": 4}}})"));
    EXPECT_EQ(to_json({}), Json::object());
}

TEST(FieldsAsText, HaveALineForEachPart)
{
    EXPECT_EQ(to_text("thing", fields), "thing: number 7, name data\n"
                                        "  part_0: keys 2, bytes 3\n"
                                        "  2MiB/machine: free 4\n");
    EXPECT_EQ(to_text("nothing", {}), "nothing\n");
}

} // namespace
} // namespace mrz::app
