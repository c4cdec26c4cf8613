// SPDX-License-Identifier: BSD-3-Clause
#include "dpdk.hpp"

#include <rte_config.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_memzone.h>

#include <cerrno>

namespace mrz {

void require_eal()
{
    // The configuration says "don't care" until rte_eal_init has decided.
    if (rte_eal_iova_mode() == RTE_IOVA_DC)
        throw Error{ENODEV,
                    {.trouble = Trouble::unsupported,
                     .what = "cannot use an arena without a running EAL",
                     .limit = "",
                     .remedy = "call rte_eal_init() first; mrzone never does"}};
}

bool is_secondary()
{
    return rte_eal_process_type() == RTE_PROC_SECONDARY;
}

void check_name(std::string_view what, std::string_view name)
{
    // A heap's longest name (RTE_HEAP_NAME_MAX_LEN, in a private header) is a memzone's.
    constexpr std::size_t longest = RTE_MEMZONE_NAMESIZE - 1;
    if (!name.empty() && name.size() <= longest && name.find('\0') == std::string_view::npos)
        return;
    throw Error{name.size() > longest ? ENAMETOOLONG : EINVAL,
                {.trouble = Trouble::invalid,
                 .what = std::string{what} + " cannot be named \"" + std::string{name} + '"',
                 .limit = "longest name in characters",
                 .present = longest,
                 .need = name.size(),
                 .remedy = "give a name of 1 to 31 characters"}};
}

Error dpdk_error(int error_number, std::string what)
{
    Cause cause{.trouble = Trouble::internal, .what = std::move(what), .limit = "", .remedy = ""};
    switch (error_number) {
    case EEXIST:
        cause.trouble = Trouble::busy;
        cause.limit = "DPDK has one of this name already";
        cause.remedy = "choose another name, or release the first";
        break;
    case EINVAL:
        cause.trouble = Trouble::invalid;
        cause.limit = "DPDK refuses the arguments";
        cause.remedy = "see the EAL's log for more (--log-level=lib.eal:debug)";
        break;
    case ENOSPC:
        cause.trouble = Trouble::unsupported;
        cause.limit = "DPDK has no room for another heap, memory list or memzone (at most " +
                      std::to_string(RTE_MAX_HEAPS) + ", " + std::to_string(RTE_MAX_MEMSEG_LISTS) + " and " +
                      std::to_string(RTE_MAX_MEMZONE) + ")";
        cause.remedy = "use fewer and larger ones";
        break;
    case EBUSY:
        cause.trouble = Trouble::busy;
        cause.limit = "DPDK says that it is in use";
        cause.remedy = "release what was allocated from it first";
        break;
    default:
        cause.limit = rte_strerror(error_number);
        cause.remedy = "see the EAL's log for more (--log-level=lib.eal:debug)";
        break;
    }
    return Error{error_number, std::move(cause)};
}

} // namespace mrz
