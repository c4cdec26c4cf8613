// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! A memory key as the driver describes it, and as the engine wants it.
#pragma once

#include "firmware/command.hpp"
#include "layouts/field.hpp"

#include <hca/mkey.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace mrz::firmware {

//! mlx5_ifc.h, MLX5_MKC_ACCESS_MODE_…: all five bits.
enum class AccessMode : std::uint8_t { pa = 0, mtt = 1, klms = 2, ksm = 3 };

//! The context of a key (mkc), and its translations: the words of its MTT, KLM or KSM entries in the order of this
//! machine, as far as they were written.
struct KeyContext {
    std::array<std::byte, 64> mkc{};
    std::vector<std::uint64_t> words;

    [[nodiscard]] std::uint64_t get(layouts::Field field) const noexcept { return layouts::get(mkc, field); }
    void set(layouts::Field field, std::uint64_t value) noexcept { layouts::set(mkc, field, value); }

    [[nodiscard]] bool free() const noexcept;
    [[nodiscard]] std::uint8_t variant() const noexcept;
    //! Throws bad_param for a mode that is not modelled.
    [[nodiscard]] AccessMode mode() const;
    [[nodiscard]] unsigned page_shift() const noexcept;
    //! Words that there is room for.
    [[nodiscard]] std::uint64_t most_words() const noexcept;
    //! Writes big-endian words from octword \p at on. Throws bad_param where there is no room.
    void write_words(std::uint64_t at, std::span<const std::byte> bytes);
};

//! Throws bad_param for what the context asks and no key of this device does.
void check_modelled(const KeyContext& context);
//! What the engine is to build of a key that is not free: by its own words. Throws bad_param where they do not
//! suffice.
hca::MkeySpec spec_of(const KeyContext& context);

} // namespace mrz::firmware
