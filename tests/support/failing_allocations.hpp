// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Calls of the C API whose allocations fail, one after the other.
#pragma once

#include "allocations.hpp"

#include <mrzone/mrzone.h>

#include <gtest/gtest.h>

#include <cerrno>
#include <functional>

namespace mrz::test {

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
