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

//! Makes a call of the C API again and again, each time with another allocation failing, until none is left to fail
//! and it must succeed. \p sparse: the later allocations are, the fewer of them fail; for calls that make thousands.
inline void fail_each_allocation(const std::function<int()>& call, bool sparse = false)
{
    unsigned which = 0;
    while (true) {
        allocations_left = which;
        const int result = call();
        const bool was_reached = !allocations_left;
        allocations_left.reset();
        if (!was_reached) {
            EXPECT_EQ(result, 0) << mrz_last_error();
            break;
        }
        ASSERT_EQ(result, -ENOMEM) << "allocation " << which << ": " << mrz_last_error();
        ASSERT_STREQ(mrz_last_error(), "out of memory") << "allocation " << which;
        which += sparse ? 1 + which / 16 : 1;
    }
    EXPECT_GT(which, 0u);
}

} // namespace mrz::test
