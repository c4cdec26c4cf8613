// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Where this process's control groups are. Private to this floor.
#pragma once

#include <mrzone/host.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace mrz::host {

//! The groups of one controller that hold this process.
struct Hierarchy {
    bool version_2 = false;
    //! Folders as absolute paths of the host: the process's own group, its parent, …, the mount's top.
    std::vector<std::string> groups;
    //! The last of them is the hierarchy's root, not the top of what a container may see.
    bool reaches_root = false;
    //! Every group that holds this process is among them.
    bool complete = false;
};

//! Empty but complete if the kernel has no hierarchy with this controller.
Hierarchy find_hierarchy(std::string_view controller, const Root& root);

} // namespace mrz::host
