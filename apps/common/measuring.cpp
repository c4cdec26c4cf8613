// SPDX-License-Identifier: BSD-3-Clause
#include "measuring.hpp"

#include <algorithm>
#include <cstddef>

#include <time.h>

namespace mrz::app {

double median(std::vector<double> values)
{
    if (values.empty())
        return 0;
    std::ranges::sort(values);
    const std::size_t half = values.size() / 2;
    return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

double processor_seconds() noexcept
{
    timespec time{};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

} // namespace mrz::app
