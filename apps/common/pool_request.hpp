// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! "2G@2M,node=0": how much memory a pool is to have.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace mrz::app {

struct PoolRequest {
    std::size_t page_size = 0;
    std::optional<int> node; //!< None: the whole machine.
    std::uint64_t pages = 0;

    friend bool operator==(const PoolRequest&, const PoolRequest&) = default;
};

//! SIZE@PAGE[,node=N]; the size is a multiple of the page, and may be zero. Throws Error (invalid).
PoolRequest parse_pool_request(std::string_view text);
//! What parse_pool_request() reads back.
std::string to_string(const PoolRequest& request);

//! "2-MiB pages of node 0", "1-GiB pages".
std::string pool_name(std::size_t page_size, std::optional<int> node);

} // namespace mrz::app
