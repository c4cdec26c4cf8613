// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Queue pairs of the software adapter: between endpoints of this process, or over a link to another.
#pragma once

#include "adapter.hpp"

#include <mrzone/device.hpp>

#include <cstdint>
#include <memory>

namespace mrz::soft {

//! A queue pair that may be connected over a link, too.
class LinkableQueuePair : public QueuePair {
  public:
    [[nodiscard]] virtual std::uint32_t number() const noexcept = 0;
    //! Connects it to queue pair \p peer of the other end of \p link, in the place of connect().
    virtual void join(std::shared_ptr<hca::Link> link, std::uint32_t peer) = 0;
};

//! As ProtectionDomain::create_queue_pair().
std::unique_ptr<LinkableQueuePair> create_queue_pair(std::shared_ptr<Adapter> adapter, hca::Pd pd,
                                                     const QueuePairOptions& options);

} // namespace mrz::soft
