// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! A folder that stands for "/", filled by a test and gone after it.
#pragma once

#include <mrzone/host.hpp>

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>

namespace mrz::host {

class MadeUpRoot {
  public:
    MadeUpRoot()
    {
        std::string pattern = std::filesystem::temp_directory_path() / "mrzone-host-XXXXXX";
        if (mkdtemp(pattern.data()) == nullptr)
            throw std::runtime_error{"no temporary folder"};
        folder_ = pattern;
    }
    ~MadeUpRoot()
    {
        std::error_code ignored;
        std::filesystem::remove_all(folder_, ignored);
    }
    MadeUpRoot(const MadeUpRoot&) = delete;
    MadeUpRoot& operator=(const MadeUpRoot&) = delete;

    void write(std::string_view absolute, std::string_view text)
    {
        const auto file = root()(absolute);
        std::filesystem::create_directories(file.parent_path());
        // Not truncated in place: ext4 then writes it to the disk at once (auto_da_alloc), which takes most of the
        // time.
        if (std::filesystem::is_regular_file(file))
            std::filesystem::remove(file);
        std::ofstream stream{file, std::ios::binary};
        stream << text;
        if (!stream.flush())
            throw std::runtime_error{"cannot write " + file.string()};
    }
    void make_folder(std::string_view absolute) { std::filesystem::create_directories(root()(absolute)); }
    //! Puts something there that exists and cannot be read as a file, by root neither.
    void make_unreadable(std::string_view absolute)
    {
        remove(absolute);
        make_folder(absolute);
    }
    void remove(std::string_view absolute) { std::filesystem::remove_all(root()(absolute)); }
    void link(std::string_view absolute, std::string_view target)
    {
        const auto file = root()(absolute);
        std::filesystem::create_directories(file.parent_path());
        std::filesystem::remove(file);
        std::filesystem::create_symlink(target, file);
    }

    [[nodiscard]] Root root() const { return Root{folder_}; }

  private:
    std::filesystem::path folder_;
};

//! A test with a made-up root of its own.
class Host : public testing::Test {
  protected:
    MadeUpRoot files;
    Root root = files.root();
};

} // namespace mrz::host
