// SPDX-License-Identifier: BSD-3-Clause
#include "domain_state.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>
#include <vector>

namespace mrz {
namespace {

constexpr std::string_view stand_in = "soft";

std::string joined(const std::vector<std::string>& words)
{
    std::string text;
    for (const std::string& word : words)
        text += (text.empty() ? "" : ", ") + word;
    return text;
}

std::string names_of(std::span<const Driver> drivers)
{
    std::vector<std::string> names;
    for (const Driver& driver : drivers)
        names.emplace_back(driver.name);
    return joined(names);
}

[[noreturn]] void refuse(std::string_view name, std::string limit, std::string remedy)
{
    throw Error{ENODEV,
                {.trouble = Trouble::unsupported,
                 .what = "opening device " + std::string{name},
                 .limit = std::move(limit),
                 .remedy = std::move(remedy)}};
}

std::string remark_of(const Device& device)
{
    const std::string remark = device.remark();
    return remark.empty() ? remark : ", " + remark;
}

OpenedDevice named(std::shared_ptr<Device> device)
{
    std::string reason = "asked for by name" + remark_of(*device);
    return {std::move(device), std::move(reason)};
}

OpenedDevice open_any(std::span<const Driver> drivers)
{
    std::string troubles;
    for (const Driver& driver : drivers) {
        for (const std::string& device : driver.list()) {
            try {
                OpenedDevice opened{driver.open(device), {}};
                if (driver.name == stand_in) {
                    opened.reason = "no hardware driver has a device" + troubles + "; the software adapter stands in";
                    log_once(Severity::warning, opened.reason);
                } else {
                    opened.reason = "the first device of driver " + std::string{driver.name} +
                                    remark_of(*opened.device) + troubles;
                }
                return opened;
            } catch (const Error& error) {
                troubles += "; not " + device + ", because " + error.what();
            }
        }
    }
    refuse("any", "no driver has a device that can be opened" + troubles,
           troubles.empty() ? "build mrzone with liburing, for the software adapter"
                            : "remove what stands in the way of one of them");
}

} // namespace

OpenedDevice open_device(std::string_view name, std::span<const Driver> drivers)
{
    if (name == "any")
        return open_any(drivers);
    // "DRIVER:DEVICE", or a device of whichever driver comes first.
    const auto colon = name.find(':');
    const std::string_view wanted = colon == std::string_view::npos ? std::string_view{} : name.substr(0, colon);
    const std::string_view bare = name.substr(colon == std::string_view::npos ? 0 : colon + 1);
    std::vector<std::string> there;
    for (const Driver& driver : drivers) {
        if (!wanted.empty() && driver.name != wanted)
            continue;
        const std::vector<std::string> devices = driver.list();
        if (std::ranges::find(devices, bare) != devices.end())
            return named(driver.open(bare));
        for (const std::string& device : devices)
            if (std::ranges::find(there, device) == there.end())
                there.push_back(device);
    }
    refuse(name, "there is no such device; there are: " + (there.empty() ? "none" : joined(there)),
           wanted.empty() ? "use one of these names, or any"
                          : "use one of these names, without a driver's or with one of: " + names_of(drivers));
}

OpenedDevice adopt_device(ibv_pd* pd, std::span<const Driver> drivers)
{
    if (pd == nullptr)
        throw Error{EINVAL,
                    {.trouble = Trouble::invalid,
                     .what = "adopting a protection domain",
                     .limit = "there is none",
                     .remedy = "give what ibv_alloc_pd() returned"}};
    for (const Driver& driver : drivers) {
        if (driver.adopt == nullptr)
            continue;
        if (auto device = driver.adopt(pd))
            return {std::move(device), "the application's protection domain"};
    }
    throw Error{ENOTSUP,
                {.trouble = Trouble::unsupported,
                 .what = "adopting a protection domain of libibverbs",
                 .limit = "no driver that knows it was built",
                 .remedy = "build mrzone with libibverbs and librdmacm (Debian: libibverbs-dev librdmacm-dev)"}};
}

} // namespace mrz
