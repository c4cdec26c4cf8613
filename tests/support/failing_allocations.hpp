// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! A program whose allocations fail on demand, by an operator new of its own.
#pragma once

#include <mrzone/mrzone.h>

#include <gtest/gtest.h>

#include <cerrno>
#include <functional>
#include <optional>

namespace mrz::test {

//! How many allocations of this thread succeed before one fails, after which all succeed again; none: all do.
extern thread_local std::optional<unsigned> allocations_left;

//! Makes a call of the C API again and again, each time with the next allocation failing, until none is left to fail
//! and it must succeed.
inline void fail_each_allocation(const std::function<int()>& call)
{
    unsigned failed = 0;
    for (;; ++failed) {
        allocations_left = failed;
        const int result = call();
        const bool was_reached = !allocations_left;
        allocations_left.reset();
        if (!was_reached) {
            EXPECT_EQ(result, 0) << mrz_last_error();
            break;
        }
        ASSERT_EQ(result, -ENOMEM) << "allocation " << failed << ": " << mrz_last_error();
        ASSERT_STREQ(mrz_last_error(), "out of memory") << "allocation " << failed;
    }
    EXPECT_GT(failed, 0u);
}

} // namespace mrz::test
