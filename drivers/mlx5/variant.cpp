// SPDX-License-Identifier: BSD-3-Clause
#include "variant.hpp"

#include <mrzone/base.hpp>

#include <cerrno>
#include <cstring>
#include <string>

#include <sys/random.h>

namespace mrz::mlx5 {

std::uint8_t random_variant(std::optional<std::uint8_t> but)
{
    for (;;) {
        std::uint8_t byte = 0;
        if (::getrandom(&byte, 1, 0) == 1) {
            if (byte != but)
                return byte;
        } else if (errno != EINTR) {
            const int error = errno;
            throw Error{error,
                        {.trouble = Trouble::unsupported,
                         .what = "choosing a key at random",
                         .limit = std::string{"getrandom: "} + std::strerror(error),
                         .remedy = "let the process call getrandom (a seccomp filter?)"}};
        }
    }
}

} // namespace mrz::mlx5
