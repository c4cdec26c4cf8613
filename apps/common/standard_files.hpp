// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Standard input, output and error where whoever started the program closed them.
#pragma once

namespace mrz::app {

//! Gives each of the three that is closed a place where reading and writing fails, so that no file that is opened
//! later takes its number: what is meant for standard output would be written into that. To be called first.
void occupy_standard_files() noexcept;

} // namespace mrz::app
