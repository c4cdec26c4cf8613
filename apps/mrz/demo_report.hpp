// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! What mrz demo found, for people and for programs.
#pragma once

#include "demo_measure.hpp"

#include "common/output.hpp"

#include <cstddef>
#include <string>

namespace mrz::app {

struct DemoReport {
    std::size_t size = 0;
    std::size_t page_size = 0;
    std::string eal_iova_mode; //!< "PA" or "VA".
    std::string iommu;         //!< host::to_string() of it.
    bool translating = false;  //!< The IOMMU gives devices other addresses than the frames'.
    std::string device;
    std::string driver;
    std::string reason;      //!< Why that device: Domain::reason().
    bool frames_used = true; //!< Whether its tables hold frames.
    Measurement dpdk;
    PlainUse plain;
    ArenaUse arena;
};

Json to_json(const DemoReport& report);
std::string to_text(const DemoReport& report);

} // namespace mrz::app
