// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! The subcommands of mrz, a file each.
#pragma once

#include <CLI/CLI.hpp>

#include <functional>

namespace mrz::app {

//! What the command line asks for.
struct Invocation {
    bool json = false;
    std::function<void()> work; //!< Set by the subcommand that was named.
};

//! Each adds its subcommand to \p app. \p invocation outlives \p app.
void add_pools(CLI::App& app, Invocation& invocation);
void add_pools_set(CLI::App& pools, Invocation& invocation);
void add_pools_restore(CLI::App& pools, Invocation& invocation);
void add_plan(CLI::App& app, Invocation& invocation);
void add_map(CLI::App& app, Invocation& invocation);
void add_demo(CLI::App& app, Invocation& invocation);

//! mrz pools --fragmentation.
void show_fragmentation(bool json);

//! The --json option, the same in every subcommand.
void add_json_flag(CLI::App& command, Invocation& invocation);

} // namespace mrz::app
