// SPDX-License-Identifier: BSD-3-Clause
#include <mrzone/mrzone.h>

#include "arguments.hpp"

#include <mrzone/telemetry.hpp>

using namespace mrz::capi;

int mrz_telemetry_offer(char* text, size_t size)
{
    return guarded([&] { return give_text(mrz::offer_telemetry(), text, size); });
}
