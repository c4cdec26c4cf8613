// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Work done by a device between two ends in this process.
#pragma once

#include <mrzone/region.hpp>

#include <memory>

namespace mrz::app {

//! Two queue pairs of one domain, connected to each other. One request at a time. A request that fails ends both.
class Loopback {
  public:
    explicit Loopback(const Domain& domain);

    //! Runs one request to its end. Throws Error (unsupported, ETIMEDOUT) if it does not end in ten seconds.
    [[nodiscard]] WcStatus run(const SendRequest& request);
    [[nodiscard]] WcStatus run(Opcode opcode, const Segment& local, Iova remote, RKey rkey);

  private:
    std::unique_ptr<QueuePair> near_;
    std::unique_ptr<QueuePair> far_;
};

} // namespace mrz::app
