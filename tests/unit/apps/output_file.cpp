// SPDX-License-Identifier: BSD-3-Clause
#include "common/output_file.hpp"

#include <mrzone/base.hpp>

#include <gtest/gtest.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace mrz::app {
namespace {

class OutputFile : public testing::Test {
  protected:
    void SetUp() override
    {
        std::string pattern = std::filesystem::temp_directory_path() / "mrz-output-XXXXXX";
        ASSERT_NE(mkdtemp(pattern.data()), nullptr);
        folder = pattern;
    }
    void TearDown() override { std::filesystem::remove_all(folder); }

    std::filesystem::path folder;
};

TEST_F(OutputFile, ReplacesWhatWasThere)
{
    const std::string path = folder / "file";
    std::ofstream{path} << "something longer";
    write_output(path, "short", "the text");
    std::ifstream file{path};
    EXPECT_EQ((std::string{std::istreambuf_iterator<char>{file}, {}}), "short");
}

TEST_F(OutputFile, IsRefusedByNameWhereItCannotBe)
{
    for (const auto& [path, number] : {std::pair<std::string, int>{folder / "no" / "file", ENOENT}, {folder, EISDIR}})
        try {
            write_output(path, "text", "the drawing");
            ADD_FAILURE() << path;
        } catch (const Error& error) {
            EXPECT_EQ(error.error_number(), number);
            EXPECT_EQ(error.cause().what, "writing the drawing to " + path);
            EXPECT_EQ(error.cause().trouble, Trouble::invalid);
        }
}

TEST_F(OutputFile, ThatIsADeviceStaysWhenItTakesNothing)
{
    EXPECT_THROW(write_output("/dev/full", "text", "the drawing"), Error);
    EXPECT_TRUE(std::filesystem::exists("/dev/full"));
}

} // namespace
} // namespace mrz::app
