// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! What the subjects need of the machine: hugepages that were touched before, and a running EAL.
#pragma once

#include <common/eal.hpp>
#include <common/temporary_pool.hpp>

namespace bench {

//! Once a process. Root.
class Machine {
  public:
    //! Grows the pool if it is too small, touches all of its free pages (a virtual machine's host gives memory that
    //! was never used at a fraction of the speed), and starts the EAL.
    Machine();
    //! Takes every free page and frees them in descending order of frame. The kernel hands out the page that was
    //! freed last, so that the next one who takes pages gets them in ascending order.
    static void sort_pool();

  private:
    mrz::app::TemporaryPool pool_;
    mrz::app::Eal eal_; //!< In memory, in the IOVA mode that it finds for itself.
};

} // namespace bench
