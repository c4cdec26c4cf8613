// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! The suite as any program of GoogleTest, or with --table as tables of what happened.
#include "peer.hpp"
#include "report.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <string_view>

namespace {

//! Prints failures and nothing else, beside the tables.
class FailurePrinter final : public testing::EmptyTestEventListener {
    void OnTestPartResult(const testing::TestPartResult& result) override
    {
        if (result.failed())
            std::fprintf(stderr, "%s:%d: %s\n", result.file_name() != nullptr ? result.file_name() : "?",
                         result.line_number(), result.message());
    }
};

} // namespace

int main(int argc, char** argv)
{
    if (argc == 3 && std::string_view{argv[1]} == "--peer") // see Peer
        return mrz::test::run_peer(argv[2]);
    testing::InitGoogleMock(&argc, argv);
    const bool wants_table =
        std::any_of(argv + 1, argv + argc, [](const char* word) { return std::string_view{word} == "--table"; });
    if (wants_table) {
        testing::TestEventListeners& listeners = testing::UnitTest::GetInstance()->listeners();
        delete listeners.Release(listeners.default_result_printer());
        listeners.Append(new FailurePrinter); // which GoogleTest then owns
    }
    const int result = RUN_ALL_TESTS();
    if (wants_table)
        mrz::test::Report::instance().print(std::cout);
    return result;
}
