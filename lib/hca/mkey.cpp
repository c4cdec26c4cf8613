// SPDX-License-Identifier: BSD-3-Clause
#include <hca/mkey.hpp>

namespace mrz::hca {

std::string_view to_string(KeyMode mode) noexcept
{
    switch (mode) {
    case KeyMode::pa:
        return "PA";
    case KeyMode::mtt:
        return "MTT";
    case KeyMode::klm:
        return "KLM";
    case KeyMode::ksm:
        return "KSM";
    case KeyMode::null:
        return "null";
    }
    return "unknown";
}

} // namespace mrz::hca
