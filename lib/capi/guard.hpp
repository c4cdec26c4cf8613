// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! The wall between C and C++: no exception passes it.
#pragma once

namespace mrz::capi {

//! Turns the exception in flight into a negative errno, and keeps its text for mrz_last_error().
int fail_with_current_exception() noexcept;

//! Runs \p body, which returns an int, and gives what a C call returns.
template <class Body>
int guarded(Body&& body) noexcept
{
    try {
        return body();
    } catch (...) {
        return fail_with_current_exception();
    }
}

} // namespace mrz::capi
