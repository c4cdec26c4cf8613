// SPDX-License-Identifier: BSD-3-Clause
#include "variant.hpp"

#include <sys/random.h>

namespace mrz::mlx5 {

std::uint8_t random_variant(std::optional<std::uint8_t> but)
{
    for (;;) {
        std::uint8_t byte = 0;
        if (::getrandom(&byte, 1, 0) == 1 && byte != but)
            return byte;
    }
}

} // namespace mrz::mlx5
