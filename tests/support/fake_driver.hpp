// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Drivers that a test tells what to say.
#pragma once

#include <mrzone/device.hpp>

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace mrz::test {

//! A count that threads change.
class Count {
  public:
    Count() = default;
    Count& operator=(const Count& other) noexcept
    {
        value_ = other.value_.load();
        return *this;
    }
    operator int() const noexcept { return value_; } // as the number that it is
    int operator++() noexcept { return ++value_; }
    int operator--() noexcept { return --value_; }

  private:
    std::atomic<int> value_ = 0;
};

//! What the made-up devices do, and what was asked of them.
struct Script {
    std::vector<std::string> hardware = {}; //!< Devices of the driver in front.
    bool hardware_opens = true;
    std::function<void(const RegisterRequest&)> on_register = {};
    std::function<void(LKey)> on_deregister = {};
    std::function<void(std::vector<BuiltKey>&)> on_query = {};
    bool can_query = true;
    bool reissues = true;                   //!< Rkeys; else they are not the driver's to choose.
    std::optional<std::uint32_t> lkey = {}; //!< Of what is registered next; none: one that nothing else has.
    std::optional<Ordering> ordering = Ordering::strict;
    DmaView view = DmaView::virtual_addresses;
    Limits limits = {};
    Count registered = {}; //!< Now.
    Count domains = {};    //!< Now.
    Count keys = {};       //!< Given out so far.
    bool movable = true;   //!< Keys; else the driver has none.
    std::function<void(Iova, std::span<const KeyPart>)> on_lead = {};
    Count movable_keys = {}; //!< Now.
    Count led_nowhere = {};  //!< Times.
};
//! The one that counts now.
Script& script();

} // namespace mrz::test
