// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! What a program cannot know of where memory lies, and what to do about it.
#pragma once

#include "output.hpp"

#include <optional>
#include <string>

namespace mrz::app {

struct FramesNote {
    std::string unknown;    //!< A sentence.
    std::string guaranteed; //!< Another: what holds all the same.
    std::string remedy;
};

//! Nothing if frames are seen and tell what a device sees. \p hidden: this process may not see them.
//! \p translating: an IOMMU stands between them and a device.
std::optional<FramesNote> frames_note(bool hidden, bool translating);
//! The same, for this machine's IOMMU.
std::optional<FramesNote> frames_note(bool hidden);

//! {"what", "remedy"}, or null.
Json to_json(const std::optional<FramesNote>& note);
//! Three lines, or nothing.
std::string to_text(const std::optional<FramesNote>& note);

} // namespace mrz::app
