// SPDX-License-Identifier: BSD-3-Clause
#include "command_events.hpp"

#include <array>
#include <cstddef>

namespace mrz {

using layouts::EventType;

bool CommandEvents::wanted() const
{
    return queues_.wants(EventType::command);
}

void CommandEvents::commands_done(std::uint32_t slots)
{
    // struct mlx5_eqe_cmd of include/linux/mlx5/device.h.
    const std::array data{static_cast<std::byte>(slots >> 24), static_cast<std::byte>(slots >> 16),
                          static_cast<std::byte>(slots >> 8), static_cast<std::byte>(slots)};
    queues_.post(EventType::command, 0, data);
}

} // namespace mrz
