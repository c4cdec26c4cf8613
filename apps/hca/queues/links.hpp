// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! What the data thread does besides the work for a device's queues.
#pragma once

#include <span>
#include <vector>

#include <poll.h>

namespace mrz::queues {

//! Links to other devices. All is called by the data thread alone.
class Links {
  public:
    virtual ~Links() = default;

    //! Does some of what there is to do. Whether there was anything.
    virtual bool work() = 0;
    //! From now on the descriptors become readable when there is something to do, or the inbox is woken. False if
    //! there is something now.
    [[nodiscard]] virtual bool prepare_to_sleep() = 0;
    //! Appends what to wait for.
    virtual void watch(std::vector<pollfd>& descriptors) const = 0;
    //! What became of these.
    virtual void awake(std::span<const pollfd> descriptors) = 0;

  protected:
    Links() = default;
    Links(const Links&) = default;
    Links& operator=(const Links&) = default;
};

} // namespace mrz::queues
