// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! The error of a call that is to be refused.
#pragma once

#include <mrzone/base.hpp>

#include <gtest/gtest.h>

#include <functional>

namespace mrz::test {

inline Error refusal(const std::function<void()>& call)
{
    try {
        call();
    } catch (const Error& error) {
        return error;
    }
    ADD_FAILURE() << "nothing was refused";
    return Error{1, {.what = {}, .limit = {}, .remedy = {}}};
}

} // namespace mrz::test
