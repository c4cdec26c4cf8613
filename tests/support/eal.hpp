// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! A real EAL for the life of an object. Once a process: use it in a child (in_child.hpp).
#pragma once

#include <rte_config.h>
#include <rte_eal.h>
#include <rte_errno.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

namespace mrz::test {

class Eal {
  public:
    //! Without telemetry, unless "--telemetry" is among the arguments; without PCI devices, unless some are named
    //! ("-a").
    explicit Eal(std::vector<std::string> arguments)
    {
        arguments_ = {"test", "--lcores=0", "--no-pci", "--no-telemetry", "--log-level=*:error"};
        if (std::find(arguments.begin(), arguments.end(), "--telemetry") != arguments.end())
            std::erase(arguments_, "--no-telemetry");
        if (std::find(arguments.begin(), arguments.end(), "-a") != arguments.end())
            std::erase(arguments_, "--no-pci");
        arguments_.insert(arguments_.end(), arguments.begin(), arguments.end());
        std::vector<char*> argv;
        for (std::string& argument : arguments_)
            argv.push_back(argument.data());
        if (rte_eal_init(static_cast<int>(argv.size()), argv.data()) < 0)
            throw std::runtime_error{std::string{"the EAL does not start: "} + rte_strerror(rte_errno)};
    }
    Eal(const Eal&) = delete;
    Eal& operator=(const Eal&) = delete;
    ~Eal() { rte_eal_cleanup(); }

  private:
    std::vector<std::string> arguments_; // the EAL keeps pointers into them
};

} // namespace mrz::test
