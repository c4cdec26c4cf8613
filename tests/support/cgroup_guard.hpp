// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! A control group of version 2 with the hugetlb controller, for the life of an object.
#pragma once

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>

#include <unistd.h>

namespace mrz::test {

class CgroupGuard {
  public:
    //! Nothing where this machine has no version 2 hierarchy with hugetlb.
    static std::optional<std::filesystem::path> hierarchy()
    {
        std::ifstream mounts{"/proc/self/mounts"};
        std::string source, place, type, rest;
        while (mounts >> source >> place >> type && std::getline(mounts, rest))
            if (type == "cgroup2" && has_word(std::filesystem::path{place} / "cgroup.controllers", "hugetlb"))
                return place;
        return {};
    }

    explicit CgroupGuard(const std::filesystem::path& hierarchy)
        : control_{hierarchy / "cgroup.subtree_control"}, folder_{hierarchy /
                                                                  ("mrz-test-" + std::to_string(getpid()))}
    {
        enabled_ = !has_word(control_, "hugetlb");
        if (enabled_)
            write(control_, "+hugetlb");
        std::filesystem::create_directory(folder_);
    }
    CgroupGuard(const CgroupGuard&) = delete;
    CgroupGuard& operator=(const CgroupGuard&) = delete;
    ~CgroupGuard()
    {
        ::rmdir(folder_.c_str());
        if (enabled_)
            std::ofstream{control_} << "-hugetlb" << std::flush;
    }

    //! Sets a limit, say "hugetlb.2MB.max".
    void set(const std::string& file, std::size_t bytes) const { write(folder_ / file, std::to_string(bytes)); }
    //! Moves the calling process into the group.
    void enter() const { write(folder_ / "cgroup.procs", std::to_string(getpid())); }
    [[nodiscard]] std::string path(const std::string& file) const { return folder_ / file; }

  private:
    static bool has_word(const std::filesystem::path& file, const std::string& wanted)
    {
        std::ifstream stream{file};
        for (std::string word; stream >> word;)
            if (word == wanted)
                return true;
        return false;
    }
    static void write(const std::filesystem::path& file, const std::string& text)
    {
        std::ofstream stream{file};
        if (!(stream << text << std::flush))
            throw std::runtime_error{"cannot write " + text + " to " + file.string()};
    }

    std::filesystem::path control_;
    std::filesystem::path folder_;
    bool enabled_ = false;
};

} // namespace mrz::test
