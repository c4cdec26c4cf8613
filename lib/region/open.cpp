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
    std::vector<std::string> there;
    for (const Driver& driver : drivers) {
        const std::vector<std::string> devices = driver.list();
        if (std::ranges::find(devices, name) != devices.end())
            return named(driver.open(name));
        there.insert(there.end(), devices.begin(), devices.end());
    }
    refuse(name, "there is no such device; there are: " + (there.empty() ? "none" : joined(there)),
           "use one of these names, or any");
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
