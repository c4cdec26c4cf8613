// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Shows how far something has come.
#pragma once

#include <cstddef>
#include <string>

namespace mrz::app {

//! A bar on standard error, drawn only if that is a terminal, and wiped when it ends.
class ProgressBar {
  public:
    explicit ProgressBar(std::string title);
    ~ProgressBar();
    ProgressBar(const ProgressBar&) = delete;
    ProgressBar& operator=(const ProgressBar&) = delete;

    //! Bytes done, of how many.
    void update(std::size_t done, std::size_t total);

  private:
    std::string title_;
    bool terminal_;
    bool drawn_ = false;
};

} // namespace mrz::app
