// SPDX-License-Identifier: BSD-3-Clause
#include "hierarchy.hpp"

#include "files.hpp"
#include "mountinfo.hpp"
#include "parse.hpp"

#include <algorithm>

namespace mrz::host {
namespace {

// The group of this process in the hierarchy that has a controller.
struct Membership {
    bool version_2 = false;
    std::optional<std::string> path; // None: in no hierarchy.
    bool garbled = false;            // Some line made no sense, and may have been the one.
};

// Lines are "id:controllers:path"; a controller that no version 1 hierarchy has is version 2's, "0::path"
// (cgroups(7)).
Membership find_membership(std::string_view text, std::string_view controller)
{
    Membership result;
    for (const std::string_view line : lines(text)) {
        const std::size_t first = line.find(':');
        const std::size_t second = first == std::string_view::npos ? first : line.find(':', first + 1);
        if (second == std::string_view::npos || !line.substr(second + 1).starts_with('/')) {
            result.garbled = true;
            continue;
        }
        const std::string_view controllers = line.substr(first + 1, second - first - 1);
        const std::string path{line.substr(second + 1)};
        if (has_option(controllers, controller))
            return {.version_2 = false, .path = path, .garbled = result.garbled};
        if (line.substr(0, first) == "0" && controllers.empty()) {
            result.version_2 = true;
            result.path = path;
        }
    }
    return result;
}

bool is_real_root(const std::string& top, bool version_2, const Root& root)
{
    // kernel/cgroup/cgroup.c: cgroup.type is CFTYPE_NOT_ON_ROOT; cgroup-v1.c: cgroup.sane_behavior is
    // CFTYPE_ONLY_ON_ROOT.
    if (version_2)
        return root.text(top + "/cgroup.controllers") && is_missing(root(top + "/cgroup.type"));
    return root.text(top + "/cgroup.sane_behavior").has_value();
}

} // namespace

Hierarchy find_hierarchy(std::string_view controller, const Root& root)
{
    Hierarchy result;
    const auto text = root.text("/proc/self/cgroup");
    if (!text)
        return result;
    const Membership membership = find_membership(*text, controller);
    if (!membership.path) {
        result.complete = !membership.garbled;
        return result;
    }
    result.version_2 = membership.version_2;

    const auto mounts = visible_mounts(root, membership.version_2 ? "cgroup2" : "cgroup");
    if (!mounts)
        return result;
    const Mount* best = nullptr;
    std::string_view own;
    for (const Mount& mount : *mounts) {
        if (!membership.version_2 && !has_option(mount.super_options, controller))
            continue;
        // Both are relative to the cgroup namespace; a path out of it ("/..") names no folder that could be found.
        const auto rest = below(mount.root, *membership.path);
        if (!rest || std::ranges::count(split(*rest, '/'), "..") != 0)
            continue;
        // The mount that shows the most ancestors.
        if (best == nullptr || mount.root.size() <= best->root.size()) {
            best = &mount;
            own = *rest;
        }
    }
    if (best == nullptr)
        return result;

    const std::string top = best->point == "/" ? "" : best->point;
    for (std::string_view rest = own;; rest = rest.substr(0, rest.rfind('/'))) {
        result.groups.push_back(top + std::string{rest});
        if (rest.empty())
            break;
    }
    result.reaches_root = best->root == "/" && is_real_root(top, membership.version_2, root);
    result.complete = result.reaches_root && !membership.garbled;
    return result;
}

} // namespace mrz::host
