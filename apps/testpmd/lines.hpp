// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Lines out of text that comes in parts, as pipes bring it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

namespace mrz::testpmd {

class Lines {
  public:
    //! Longer than any command may be. Bytes.
    static constexpr std::size_t longest = 8192;

    //! \p run is given each line, without its end, and says whether to go on; \p left_out is called for each that is
    //! too long, of which no more than the beginning is kept.
    Lines(std::function<bool(const std::string&)> run, std::function<void()> left_out)
        : run_{std::move(run)}, left_out_{std::move(left_out)}
    {
    }

    //! Runs the lines that are whole by now. \return whether to go on.
    bool add(std::string_view part)
    {
        while (!part.empty()) {
            const std::size_t end = std::min(part.find('\n'), part.size());
            // One byte too many shows that it is too long.
            begun_.append(part, 0, std::min(end, longest + 1 - begun_.size()));
            if (end == part.size())
                return true;
            part.remove_prefix(end + 1);
            if (!finish())
                return false;
        }
        return true;
    }
    //! There is no more: what has begun is a line, too. \return whether to go on.
    bool finish()
    {
        std::string line = std::exchange(begun_, {});
        if (line.size() > longest) {
            left_out_();
            return true;
        }
        if (line.ends_with('\r'))
            line.pop_back();
        return run_(line);
    }

  private:
    std::function<bool(const std::string&)> run_;
    std::function<void()> left_out_;
    std::string begun_;
};

} // namespace mrz::testpmd
