// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! QUERY_HCA_CAP and SET_HCA_CAP: what the device says that it can do, and which of it the driver chose.
#pragma once

#include "firmware/context.hpp"
#include "layouts/field.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

namespace mrz::firmware {

//! Groups; numbers are those of enum mlx5_cap_type in Linux's include/linux/mlx5/device.h.
enum class CapabilityGroup : std::uint16_t { general = 0, ethernet = 1, atomic = 3, roce = 4, flow_table = 7 };

//! One thing that is advertised. A driver may set a field that is `chosen`, to at most that value.
struct Capability {
    std::string_view name;
    layouts::Field field;
    std::uint64_t value;
    std::uint64_t at_start; //!< What holds until the driver sets another.
    bool chosen = false;
};

class Capabilities {
  public:
    explicit Capabilities(const Context& context);
    void add_to(Commands& commands);
    //! Forgets what the driver chose.
    void reset();

    //! What holds now.
    [[nodiscard]] std::uint64_t current(CapabilityGroup group, layouts::Field field) const;
    //! All that is advertised, for whoever shows it.
    [[nodiscard]] const std::map<CapabilityGroup, std::vector<Capability>>& advertised() const noexcept
    {
        return advertised_;
    }

  private:
    static constexpr std::size_t group_bytes = 256;
    using Values = std::array<std::byte, group_bytes>;

    void query(const Command& command) const;
    void set(const Command& command);
    [[nodiscard]] const std::vector<Capability>& group(std::uint16_t number) const;

    std::map<CapabilityGroup, std::vector<Capability>> advertised_;
    std::map<CapabilityGroup, Values> current_;
};

} // namespace mrz::firmware
