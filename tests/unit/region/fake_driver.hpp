// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Drivers that a test tells what to say.
#pragma once

#include <mrzone/device.hpp>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace mrz::test {

//! What the made-up devices do, and what was asked of them.
struct Script {
    std::vector<std::string> hardware = {}; //!< Devices of the driver in front.
    bool hardware_opens = true;
    std::function<void(const RegisterRequest&)> on_register = {};
    std::function<void(std::vector<BuiltKey>&)> on_query = {};
    std::function<void()> on_deregister = {};
    bool can_query = true;
    DmaView view = DmaView::virtual_addresses;
    std::uint32_t lkey = 1; //!< Of what is registered next.
    int registered = 0;     //!< Now.
    int domains = 0;        //!< Now.
};
//! The one that counts now.
Script& script();

} // namespace mrz::test
