// SPDX-License-Identifier: BSD-3-Clause
#include <mrzone/device.hpp>

namespace mrz {

// Here, so that their tables of functions are in one place.
RegisteredMemory::~RegisteredMemory() = default;
QueuePair::~QueuePair() = default;
ProtectionDomain::~ProtectionDomain() = default;
Device::~Device() = default;

} // namespace mrz
