// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! What the subjects need of the machine: hugepages that were touched before, and a running EAL.
#pragma once

#include <common/eal.hpp>
#include <common/temporary_pool.hpp>

#include <mrzone/region.hpp>

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace bench {

//! Once a process. Root.
class Machine {
  public:
    //! Grows the pool if it is too small, touches all of its free pages (a virtual machine's host gives memory that
    //! was never used at a fraction of the speed), and starts the EAL.
    Machine();
    //! Takes every free page and frees them so that the next who takes pages gets a contiguous gigabyte in ascending
    //! order first, if there is one: the pool as it is after it was reserved early, whatever runs before did to it.
    //! The kernel hands out the page that was freed last.
    //! With Next::others it comes last.
    enum class Next { gigabyte, others };
    static void arrange_pool(Next next = Next::gigabyte);
    //! Takes every free page, and frees all but \p percent_held of them in random order: the pool as it is on a
    //! machine that has been up for a while. What it returns holds the others.
    static std::shared_ptr<const void> fragment_pool(unsigned percent_held);

  private:
    mrz::app::TemporaryPool pool_;
    mrz::app::Eal eal_; //!< In memory, in the IOVA mode that it finds for itself.
};

//! A domain of a device, open until release_machine(). While the kernel takes the io_uring of the software adapter's
//! closed one apart it ends early what this process does with hugepages: a pool grows less than was asked for.
mrz::Domain domain_of(const std::string& device);
//! That of the software adapter.
mrz::Domain soft_domain();
//! Each driver that has a device, with the name of its first: "soft", "mlx5:mlx5_0", "verbs:mlx5_0".
std::vector<std::pair<std::string, std::string>> first_devices();

//! A page of 1 GiB, touched, that is mapped at the first call and kept until release_machine(): the kernel has to
//! move much about to make one. Throws Unavailable if it cannot.
std::span<std::byte> gigabyte_page();

} // namespace bench
