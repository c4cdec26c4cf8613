// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Processes of a test that wait for each other.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <stdexcept>

#include <poll.h>
#include <unistd.h>

namespace mrz::test {

//! Lets one process wait for another: a byte through a pipe. Bounded, so that a failure elsewhere ends the wait.
class Step {
  public:
    Step() { EXPECT_EQ(pipe(ends_.data()), 0); }
    void done() const { EXPECT_EQ(write(ends_[1], "x", 1), 1); }
    void wait() const
    {
        pollfd ready{.fd = ends_[0], .events = POLLIN, .revents = 0};
        if (poll(&ready, 1, 60'000) != 1)
            throw std::runtime_error{"the other process did not come this far"};
        char byte = 0;
        EXPECT_EQ(read(ends_[0], &byte, 1), 1);
    }

  private:
    std::array<int, 2> ends_{};
};

} // namespace mrz::test
