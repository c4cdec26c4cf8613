// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! DPDK's EAL for as long as a program needs it.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace mrz::app {

struct EalOptions {
    //! No files, no secondary processes, nothing left behind after a kill.
    bool in_memory = true;
    //! No PCI devices, no telemetry, one lcore on all processors, errors only. False for a program whose user gives
    //! the EAL's arguments: these are then all there are.
    bool defaults = true;
    //! Handed to the EAL after the defaults, so that they win.
    std::vector<std::string> arguments{};
};

//! A running EAL; there can be one in the life of a process. Its messages go to standard error. With defaults the
//! calling thread becomes the main lcore and keeps its processors. Not thread-safe.
class Eal {
  public:
    //! Throws Error: hugepages, permission, unsupported or internal; invalid for a limit of the process.
    explicit Eal(const EalOptions& options = {});
    ~Eal();
    Eal(const Eal&) = delete;
    Eal& operator=(const Eal&) = delete;

  private:
    std::filesystem::path folder_; //!< What an EAL in memory leaves behind, to be removed.
};

} // namespace mrz::app
