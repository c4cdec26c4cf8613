// SPDX-License-Identifier: BSD-3-Clause
#include <mrzone/device.hpp>

namespace mrz {

// Here, so that their tables of functions are in one place.
RegisteredMemory::~RegisteredMemory() = default;
QueuePair::~QueuePair() = default;
ProtectionDomain::~ProtectionDomain() = default;
Device::~Device() = default;

std::vector<std::unique_ptr<RegisteredMemory>>
ProtectionDomain::register_many(std::span<const RegisterRequest> requests)
{
    std::vector<std::unique_ptr<RegisteredMemory>> registered;
    registered.reserve(requests.size());
    for (const RegisterRequest& request : requests)
        registered.push_back(register_memory(request));
    return registered;
}

} // namespace mrz
