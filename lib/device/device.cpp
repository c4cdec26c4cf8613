// SPDX-License-Identifier: BSD-3-Clause
#include <mrzone/device.hpp>

#include <cerrno>
#include <string>
#include <utility>

namespace mrz {

// Here, so that their tables of functions are in one place.
Basis::~Basis() = default;
RegisteredMemory::~RegisteredMemory() = default;
MovableRKey::~MovableRKey() = default;
QueuePair::~QueuePair() = default;
ProtectionDomain::~ProtectionDomain() = default;
Device::~Device() = default;
Connection::~Connection() = default;
ConnectionRequest::~ConnectionRequest() = default;
Listener::~Listener() = default;

namespace {

[[noreturn]] void refuse(std::string what, std::string limit, std::string remedy)
{
    throw Error{ENOTSUP,
                {.trouble = Trouble::unsupported,
                 .what = std::move(what),
                 .limit = std::move(limit),
                 .remedy = std::move(remedy)}};
}

} // namespace

std::optional<Ordering> RegisteredMemory::ordering() const noexcept
{
    return std::nullopt;
}

Proposal ProtectionDomain::propose(const RegisterRequest& /*request*/, const Layout& layout,
                                   const PlanOptions& options, const Limits& limits)
{
    return {.plan = make_optimal_plan(layout, options, limits)};
}

RKey RegisteredMemory::reissue()
{
    refuse("issuing another rkey", "this device's driver does not choose keys", "deregister, and register again");
}

std::unique_ptr<MovableRKey> ProtectionDomain::create_movable_key(Access /*access*/, std::size_t /*entries*/)
{
    refuse("making a movable key", "this device's driver changes no keys by requests",
           "register the memory that peers are to reach, as a region of its own");
}

std::unique_ptr<Listener> ProtectionDomain::listen(std::string_view address)
{
    refuse("waiting for peers at " + std::string{address}, "this device's driver has no connections",
           "open another device");
}

std::unique_ptr<Connection> ProtectionDomain::connect(std::string_view address, const ConnectOptions& /*options*/,
                                                      const std::function<void(QueuePair&)>& /*before*/)
{
    refuse("connecting to " + std::string{address}, "this device's driver has no connections", "open another device");
}

std::string Device::remark() const
{
    return {};
}

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
