// SPDX-License-Identifier: BSD-3-Clause
#include <mrzone/device.hpp>

#include <array>
#include <cerrno>
#include <utility>

namespace mrz {
namespace {

constexpr std::array<std::pair<Access, std::string_view>, 4> rights = {{{Access::local_write, "local write"},
                                                                        {Access::remote_read, "remote read"},
                                                                        {Access::remote_write, "remote write"},
                                                                        {Access::remote_atomic, "remote atomic"}}};

} // namespace

std::string to_string(Access access)
{
    std::string text;
    for (const auto& [right, name] : rights) {
        if (!grants(access, right))
            continue;
        if (!text.empty())
            text += ", ";
        text += name;
    }
    return text.empty() ? "local read" : text;
}

void check_access(Access access)
{
    constexpr Access all = Access::local_write | Access::remote_read | Access::remote_write | Access::remote_atomic;
    if (!grants(all, access))
        throw Error{EINVAL,
                    {.trouble = Trouble::invalid,
                     .what = "registering with rights " + format_hex(static_cast<unsigned>(access)),
                     .limit = "there are no such rights",
                     .remedy = "combine rights by their names"}};
    if (grants(access, Access::local_write))
        return;
    // ibv_reg_mr(3): with remote write or remote atomic, local write must be set too.
    for (const Access remote : {Access::remote_write, Access::remote_atomic})
        if (grants(access, remote))
            throw Error{
                EINVAL,
                {.trouble = Trouble::invalid,
                 .what = "registering with " + to_string(access),
                 .limit = to_string(remote) + " needs local write, because the device writes on behalf of the peer",
                 .remedy = "add local write, or leave " + to_string(remote) + " out"}};
}

} // namespace mrz
