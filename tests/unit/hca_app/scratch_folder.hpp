// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! A folder of a test's own.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>

namespace mrz::test {

//! Goes with all that is in it.
class ScratchFolder {
  public:
    ScratchFolder()
    {
        std::string name = "/tmp/mrz-hca-test-XXXXXX"; // short: paths of sockets are
        if (::mkdtemp(name.data()) == nullptr)
            throw std::runtime_error{"mkdtemp"};
        path_ = name;
    }
    ~ScratchFolder()
    {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    ScratchFolder(const ScratchFolder&) = delete;
    ScratchFolder& operator=(const ScratchFolder&) = delete;

    [[nodiscard]] std::string operator/(const std::string& name) const { return path_ + '/' + name; }

  private:
    std::string path_;
};

} // namespace mrz::test
