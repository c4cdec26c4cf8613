// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Two connected queue pairs of one domain.
#pragma once

#include <mrzone/region.hpp>

#include <memory>

namespace bench {

class Channel {
  public:
    explicit Channel(const mrz::Domain& domain);

    //! Posts a request to the first queue pair and polls until it is done. Throws if it fails.
    void run(const mrz::SendRequest& request);

  private:
    std::unique_ptr<mrz::QueuePair> near_;
    std::unique_ptr<mrz::QueuePair> far_;
};

} // namespace bench
