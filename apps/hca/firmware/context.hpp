// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! What every part of the firmware works on.
#pragma once

#include "dma/dma.hpp"
#include "firmware/objects.hpp"
#include "firmware/settings.hpp"

#include <hca/hca.hpp>

namespace mrz::firmware {

struct Context {
    hca::Hca& engine;
    dma::Bus& bus;
    Objects& objects;
    const Settings& settings;
};

} // namespace mrz::firmware
