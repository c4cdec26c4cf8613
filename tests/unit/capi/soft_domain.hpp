// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! A domain of the software adapter, and memory to register in it, for the life of a test.
#pragma once

#include <mrzone/mrzone.h>

#include "support/require.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdlib>
#include <memory>

namespace mrz::test {

class SoftDomainTest : public testing::Test {
  protected:
    static constexpr std::size_t memory_size = std::size_t{64} << 10;

    void SetUp() override
    {
        mrz_domain* opened = nullptr;
        MRZ_REQUIRE(mrz_domain_open("soft", &opened) == 0, mrz_last_error());
        domain_.reset(opened);
        memory_.reset(std::aligned_alloc(memory_size, memory_size));
        ASSERT_NE(memory_, nullptr);
    }

    [[nodiscard]] mrz_domain* domain() const { return domain_.get(); }
    [[nodiscard]] std::byte* memory() const { return static_cast<std::byte*>(memory_.get()); }
    //! Gives the handle up before the test ends.
    void destroy_domain() { domain_.reset(); }

  private:
    std::unique_ptr<mrz_domain, decltype(&mrz_domain_destroy)> domain_{nullptr, &mrz_domain_destroy};
    std::unique_ptr<void, decltype(&std::free)> memory_{nullptr, &std::free};
};

} // namespace mrz::test
