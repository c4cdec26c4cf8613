// SPDX-License-Identifier: BSD-3-Clause
#include <mrzone/host.hpp>

#include "files.hpp"
#include "parse.hpp"

namespace mrz::host {

Iommu iommu(const Root& root)
{
    const std::filesystem::path folder = "/sys/kernel/iommu_groups";
    const auto groups = root.names(folder.native());
    if (!groups) {
        // A kernel without IOMMU support has no such folder; a hidden /sys says nothing.
        const bool sys_is_there = root.names("/sys/kernel").has_value();
        return sys_is_there && is_missing(root(folder.native())) ? Iommu::none : Iommu::unknown;
    }
    if (groups->empty())
        return Iommu::none;

    bool all_known = true;
    for (const std::string& group : *groups) {
        // The words are those of drivers/iommu/iommu.c, iommu_group_show_type().
        const auto text = root.text((folder / group / "type").native());
        const std::string_view type = text ? without_newline(*text) : "unknown";
        if (type == "unknown" || type.empty())
            all_known = false;
        else if (type != "identity")
            return Iommu::translating;
    }
    return all_known ? Iommu::passthrough : Iommu::unknown;
}

std::string_view to_string(Iommu mode)
{
    switch (mode) {
    case Iommu::none:
        return "none";
    case Iommu::passthrough:
        return "passthrough";
    case Iommu::translating:
        return "translating";
    case Iommu::unknown:
        break;
    }
    return "unknown";
}

} // namespace mrz::host
