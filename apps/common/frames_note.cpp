// SPDX-License-Identifier: BSD-3-Clause
#include "frames_note.hpp"

#include <mrzone/host.hpp>

namespace mrz::app {

std::optional<FramesNote> frames_note(bool hidden, bool translating)
{
    if (hidden)
        return FramesNote{.unknown =
                              "Where the pages lie is hidden from this user, so extents and breaks are unknown.",
                          .guaranteed = "Guaranteed is what a hugepage's size promises, wherever it lies.",
                          .remedy = "run it as root (sudo), or: setcap cap_sys_admin+ep PROGRAM"};
    if (translating)
        return FramesNote{.unknown = "An IOMMU translates what devices see: frames do not tell a device's breaks.",
                          .guaranteed = "Guaranteed is what a hugepage's size promises.",
                          .remedy = "boot with iommu=pt, so that devices see the frames"};
    return std::nullopt;
}

std::optional<FramesNote> frames_note(bool hidden)
{
    return frames_note(hidden, host::iommu() == host::Iommu::translating);
}

Json to_json(const std::optional<FramesNote>& note)
{
    return note ? Json{{"what", note->unknown + " " + note->guaranteed}, {"remedy", note->remedy}} : Json(nullptr);
}

std::string to_text(const std::optional<FramesNote>& note)
{
    return note ? fmt::format("{}\n{}\ntry: {}\n", note->unknown, note->guaranteed, note->remedy) : std::string{};
}

} // namespace mrz::app
