// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Queue pairs of libmlx5's that carry out requests which change keys, on those of fake_mlx5.hpp; and faults.
#pragma once

#include <verbs/context.hpp>

#include <infiniband/verbs.h>

#include <functional>
#include <memory>

namespace mrz::mlx5::test {

//! The one fake. Not for several threads at once.
struct FakeRequests {
    unsigned queue_pairs = 0; //!< Now.
    unsigned refusals = 0;    //!< Of the next queue pairs.
    unsigned peer_access = 0; //!< That any queue pair grants.
    unsigned freed = 0;       //!< Requests that took back what a key leads to.
    unsigned filled = 0;
    bool port_is_down = false;
    bool small_fence_suffices = false; //!< If not, only a strong one keeps a request from overtaking another.
    //! How a request ends, if not well: then it has done nothing.
    std::function<ibv_wc_status()> fault = {};
    //! Called by each look for what has ended; whether anything is seen.
    std::function<bool()> seen = {};
};
FakeRequests& fake_requests();

//! A protection domain of fake_context(), whose queue pairs these are.
std::shared_ptr<verbs::Pd> fake_pd();

} // namespace mrz::mlx5::test
