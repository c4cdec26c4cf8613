// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Two connected queue pairs, and work that is waited for.
#pragma once

#include <mrzone/region.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <ostream>

namespace mrz {

inline void PrintTo(WcStatus status, std::ostream* stream)
{
    *stream << to_string(status);
}

namespace test {

//! Two queue pairs that are connected to each other.
struct Pair {
    std::unique_ptr<QueuePair> near;
    std::unique_ptr<QueuePair> far;

    Pair(const Domain& near_domain, const Domain& far_domain, const QueuePairOptions& options = {})
        : near{near_domain.create_queue_pair(options)}, far{far_domain.create_queue_pair(options)}
    {
        near->connect(far->local());
        far->connect(near->local());
    }

    //! The next completion; fails the test if there is none in time.
    static Completion wait(QueuePair& queue_pair)
    {
        const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds{60};
        Completion completion;
        while (queue_pair.poll({&completion, 1}) == 0) {
            if (std::chrono::steady_clock::now() > deadline) {
                ADD_FAILURE() << "no completion in a minute";
                completion.status = WcStatus::general_error;
                break;
            }
        }
        return completion;
    }
    Completion run(const SendRequest& request) const
    {
        near->post_send(request);
        return wait(*near);
    }
    WcStatus status(const SendRequest& request) const { return run(request).status; }
};

//! What a region's owner writes into a work request.
inline Segment segment(const Region& region, std::size_t offset, std::size_t length)
{
    return {region.iova() + offset, static_cast<std::uint32_t>(length), region.lkey()};
}

} // namespace test
} // namespace mrz
