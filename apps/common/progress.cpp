// SPDX-License-Identifier: BSD-3-Clause
#include "progress.hpp"

#include <mrzone/base.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <unistd.h>

namespace mrz::app {

ProgressBar::ProgressBar(std::string title) : title_{std::move(title)}, terminal_{isatty(STDERR_FILENO) == 1} {}

ProgressBar::~ProgressBar()
{
    if (drawn_)
        std::fputs("\r\033[K", stderr);
}

void ProgressBar::update(std::size_t done, std::size_t total)
{
    if (!terminal_ || total == 0)
        return;
    constexpr std::size_t width = 30;
    done = std::min(done, total);
    const auto filled = static_cast<std::size_t>(width * (static_cast<double>(done) / static_cast<double>(total)));
    fmt::print(stderr, "\r\033[K{} [{:#<{}}{:.<{}}] {} of {}", title_, "", filled, "", width - filled,
               format_size(done), format_size(total));
    std::fflush(stderr);
    drawn_ = true;
}

} // namespace mrz::app
