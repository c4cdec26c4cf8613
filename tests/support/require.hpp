// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! What a test asks of the machine before it runs.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>

//! Leaves the test unless \p condition holds: as skipped for \p reason, or as failed where MRZ_STRICT is set, so that
//! a machine which should run everything cannot pass by running nothing. Use it in the body of a test or in SetUp().
#define MRZ_REQUIRE(condition, reason)                                                                               \
    do {                                                                                                             \
        if (!(condition)) {                                                                                          \
            if (std::getenv("MRZ_STRICT") != nullptr)                                                                \
                FAIL() << "needed here (MRZ_STRICT is set): " << (reason);                                           \
            GTEST_SKIP() << (reason);                                                                                \
        }                                                                                                            \
    } while (false)
