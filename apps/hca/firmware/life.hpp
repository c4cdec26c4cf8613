// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Commands of the device's life: enabled, given pages, initialized, and the way back.
#pragma once

#include "firmware/context.hpp"

#include <cstdint>
#include <functional>
#include <set>

namespace mrz::firmware {

class Life {
  public:
    enum class Stage : std::uint8_t { disabled, enabled, initialized };

    //! \p begin and \p end are called by INIT_HCA and TEARDOWN_HCA: they make and free what lives in between.
    Life(const Context& context, std::function<void()> begin, std::function<void()> end);
    void add_to(Commands& commands);
    void reset();

    //! Throws bad_sys_state where a command may not come now.
    void check(const Handler& handler) const;
    [[nodiscard]] Stage stage() const noexcept { return stage_; }
    //! Pages of the guest that it gave and has not had back.
    [[nodiscard]] std::size_t pages() const noexcept { return pages_.size(); }

  private:
    static constexpr std::size_t most_pages = 1U << 20;

    void require(Stage stage, const char* what) const;
    void set_issi(const Command& command);
    void query_pages(const Command& command) const;
    void manage_pages(const Command& command);
    void give(const Command& command, std::uint64_t count);
    void take(const Command& command, std::uint64_t count);
    void teardown(const Command& command);

    const Context context_;
    const std::function<void()> begin_;
    const std::function<void()> end_;
    Stage stage_ = Stage::disabled;
    std::uint16_t issi_ = 0;
    std::set<std::uint64_t> pages_;
};

} // namespace mrz::firmware
