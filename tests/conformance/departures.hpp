// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Where devices are known to depart from the specification of their operations, or from the stricter promises of the
//! software adapter: what happens there instead, so that it is tested too, and said beside each such row.
#pragma once

#include "report.hpp"

#include <string_view>

namespace mrz::test {

//! What memory may look like after an operation was refused, and what else a model has to know.
struct Quirks {
    //! A message is checked as its packets are made. Those before the one that is refused have arrived, and an atomic
    //! operation has been done when it is found that its result may not be written. (Volume 1 of the InfiniBand
    //! specification lets every adapter do so.)
    bool parts_before_refusal = false;
    //! An atomic operation is of eight bytes, whatever the length that its segment says.
    bool any_atomic_length = false;
    //! A read in the midst of which its region ends is tried again for ever (rxe of Linux 6.1): reads of one packet
    //! are not.
    bool long_reads_never_end = false;
    bool slow = false;     //!< Under an emulator mostly: what a minute has to do, it does less often.
    unsigned steps = 3000; //!< Of a sequence at random.
};
Quirks quirks_of(std::string_view device);

//! Why the device may end the operation as it did, though the cell expects otherwise; empty if it may not.
std::string_view departure(std::string_view device, const Cell& cell);

} // namespace mrz::test
