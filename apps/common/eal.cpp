// SPDX-License-Identifier: BSD-3-Clause
#include "eal.hpp"

#include "process_limits.hpp"

#include <mrzone/base.hpp>

#include <fmt/format.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_log.h>

#include <cerrno>
#include <cstdio>
#include <sched.h>
#include <unistd.h>

namespace mrz::app {
namespace {

// One lcore that floats over all processors this thread may use: left to itself the EAL ties the calling thread to
// one of them, and the threads that zero pages inherit that.
std::string lcores()
{
    cpu_set_t set;
    std::string processors;
    if (sched_getaffinity(0, sizeof set, &set) == 0)
        for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
            if (CPU_ISSET(cpu, &set))
                processors += fmt::format("{}{}", processors.empty() ? "" : ",", cpu);
    return fmt::format("--lcores=0@({})", processors.empty() ? "0" : processors);
}

void remove_folder(const std::filesystem::path& folder)
{
    if (folder.empty())
        return;
    // Neither goes unless it is empty.
    std::error_code ignored;
    std::filesystem::remove(folder, ignored);
    std::filesystem::remove(folder.parent_path(), ignored);
}

[[noreturn]] void refuse(int error_number, bool in_memory)
{
    // How it says that there are no hugepages, too.
    if (error_number == EACCES && ::geteuid() == 0)
        error_number = ENOMEM;
    Cause cause{.what = "starting DPDK's EAL", .limit = rte_strerror(error_number), .remedy = {}};
    if (error_number == 0)
        cause.limit = "it failed and gives no reason";
    switch (error_number) {
    case EACCES:
    case EPERM:
        cause.trouble = Trouble::permission;
        cause.remedy = "run it as root (sudo)";
        break;
    case ENOMEM:
        if (auto limit = limit_on_memory(cause.what)) {
            cause = std::move(*limit);
            break;
        }
        cause.trouble = Trouble::hugepages;
        cause.remedy = in_memory ? "reserve hugepages; try: mrz pools set 1G@2M"
                                 : "reserve hugepages for a hugetlbfs that is mounted, or give --in-memory";
        break;
    case EINVAL:
        cause.trouble = Trouble::invalid;
        cause.remedy = "see the EAL's own message above";
        break;
    case 0: // another program with its --file-prefix, for one
    case ENOTSUP:
    case ENODEV:
    case ENOENT:
        cause.trouble = Trouble::unsupported;
        cause.remedy = "see the EAL's own message above";
        break;
    default:
        cause.remedy = "see the EAL's own message above";
    }
    throw Error{error_number > 0 ? error_number : EIO, std::move(cause)};
}

} // namespace

Eal::Eal(const EalOptions& options)
{
    // Before the first message: once started, the EAL's console is standard output, which is for results.
    rte_openlog_stream(stderr);
    std::vector<std::string> arguments{program_invocation_short_name};
    if (options.defaults)
        arguments.insert(arguments.end(), {lcores(), "--no-pci", "--no-telemetry", "--log-level=error"});
    if (options.in_memory && options.defaults) {
        arguments.emplace_back("--in-memory");
        // The EAL makes this folder all the same. No two programs disagree about what is in it: nothing.
        arguments.emplace_back("--file-prefix=mrz");
    }
    arguments.insert(arguments.end(), options.arguments.begin(), options.arguments.end());

    std::vector<char*> argv;
    for (std::string& argument : arguments)
        argv.push_back(argument.data());
    argv.push_back(nullptr);
    if (rte_eal_init(static_cast<int>(arguments.size()), argv.data()) < 0) {
        const int error_number = rte_errno;
        if (options.in_memory)
            remove_folder(rte_eal_get_runtime_dir());
        std::fflush(stdout); // where it printed its options, if it did not like those given
        refuse(error_number, options.in_memory);
    }
    if (options.in_memory)
        folder_ = rte_eal_get_runtime_dir();
}

Eal::~Eal()
{
    rte_eal_cleanup();
    remove_folder(folder_);
}

} // namespace mrz::app
