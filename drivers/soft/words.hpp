// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! From the words of mrzone's devices to the engine's, and back.
#pragma once

#include <hca/work.hpp>

#include <mrzone/device.hpp>

namespace mrz::soft {

hca::SendOpcode to_engine(Opcode opcode);
WcStatus from_engine(hca::WcStatus status) noexcept;
WcOpcode from_engine(hca::WcOpcode opcode) noexcept;

} // namespace mrz::soft
