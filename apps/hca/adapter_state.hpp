// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! What the device holds and did, as the control socket shows it.
#pragma once

#include "control/commands.hpp"
#include "dma/memory.hpp"
#include "fabric/fabric.hpp"
#include "firmware/firmware.hpp"
#include "firmware/memory_keys.hpp"

#include <hca/hca.hpp>

#include <cstdint>
#include <map>
#include <vector>

namespace mrz {

[[nodiscard]] control::Json show(const hca::HcaCounters& counters);
[[nodiscard]] control::Json show_caches(const hca::HcaOptions& options, const hca::HcaCounters& counters);
//! By name.
[[nodiscard]] control::Json show(const std::map<std::uint16_t, firmware::CommandCount>& counts);
[[nodiscard]] control::Json show(const dma::MemoryCounts& counts);
[[nodiscard]] control::Json show(const std::vector<fabric::Fabric::State>& links);
[[nodiscard]] control::Json show(const firmware::MemoryKeys::Shown& key);
//! By key; free ones only if \p free, and no more than \p most.
[[nodiscard]] control::Json show(const std::vector<firmware::MemoryKeys::Shown>& keys, bool free, std::uint64_t most);

} // namespace mrz
