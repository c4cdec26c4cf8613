// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! A hugetlbfs that only this process and its children see.
#pragma once

#include <cstdlib>
#include <sched.h>
#include <stdexcept>
#include <string>
#include <sys/mount.h>
#include <unistd.h>

namespace mrz::test {

//! Mounts a hugetlbfs of 2-MiB pages in a mount namespace of the process's own, which it enters for good: the kernel
//! undoes it when the last process of the namespace is gone, however that ends.
class HugetlbfsMount {
  public:
    HugetlbfsMount()
    {
        if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
            mkdtemp(path_.data()) == nullptr || mount("none", path_.c_str(), "hugetlbfs", 0, "pagesize=2M") != 0)
            throw std::runtime_error{"cannot mount a hugetlbfs for the test"};
    }
    HugetlbfsMount(const HugetlbfsMount&) = delete;
    HugetlbfsMount& operator=(const HugetlbfsMount&) = delete;
    ~HugetlbfsMount()
    {
        umount2(path_.c_str(), MNT_DETACH);
        rmdir(path_.c_str());
    }

    [[nodiscard]] const std::string& path() const { return path_; }

  private:
    std::string path_ = "/tmp/mrzone-hugetlbfs-XXXXXX";
};

} // namespace mrz::test
