// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Signals as a program finds them that is started at a terminal.
#pragma once

#include <csignal>
#include <initializer_list>

namespace mrz::test {

//! For a child before it becomes the program under test: whoever started the tests may ignore some (nohup, a shell's
//! job in the background), which programs inherit, and rightly keep to.
inline void take_ordinary_signals()
{
    for (const int signal : {SIGHUP, SIGINT, SIGTERM, SIGPIPE})
        std::signal(signal, SIG_DFL);
}

} // namespace mrz::test
