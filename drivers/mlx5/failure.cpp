// SPDX-License-Identifier: BSD-3-Clause
#include "failure.hpp"

#include <cerrno>
#include <cstring>
#include <utility>

namespace mrz::mlx5 {
namespace {

using layouts::Status;

// Syndromes are the firmware's own numbers, told by nobody but those who have met them.
constexpr std::uint32_t no_more_keys = 0x18af6;         // openucx/ucx issue 6264
constexpr std::uint32_t offset_disagrees = 0x317175;    // start and place in the umem, modulo the umem's page size
constexpr std::uint32_t below_lacks_atomics = 0x45d3a4; // openucx/ucx pull request 8218

std::string firmware_says(const Refusal& refusal)
{
    if (refusal.status == 0)
        return std::string{"the kernel: "} + std::strerror(refusal.error);
    return "the firmware: " + std::string{layouts::to_string(Status{refusal.status})} + " (status " +
           format_hex(refusal.status) + ", syndrome " + format_hex(refusal.syndrome) + ')';
}

Error report(int error, Trouble trouble, const KeyFacts& facts, std::string limit, std::string remedy)
{
    return Error{error,
                 {.trouble = trouble, .what = facts.what, .limit = std::move(limit), .remedy = std::move(remedy)}};
}

Error key_limit(const KeyFacts& facts)
{
    Cause cause{.trouble = Trouble::unsupported,
                .what = facts.what,
                .limit = "the device's keys (max_mr of ibv_devinfo -v), of all processes,",
                .remedy = "deregister some regions, register fewer and longer ones, or let peers share one"};
    if (facts.max_mr != 0) {
        cause.present = facts.max_mr;
        cause.need = facts.max_mr + 1;
    }
    return Error{ENOMEM, std::move(cause)};
}

//! What a parameter of an indirect key may have been too much of.
Error bad_indirect_key(const KeyFacts& facts)
{
    const std::string says = firmware_says(facts.refusal);
    if (facts.entries > facts.max_entries)
        return Error{EINVAL,
                     {.trouble = Trouble::unsupported,
                      .what = facts.what,
                      .limit = "entries of an indirect key (log_max_klm_list_size), as " + says + ",",
                      .present = facts.max_entries,
                      .need = facts.entries,
                      .remedy = "register it in pieces, or without indirect keys"}};
    return report(
        EINVAL, Trouble::unsupported, facts,
        "an indirect key is not taken: its window may be longer than its entries, or the keys below it be in "
        "more levels than the device has (" +
            std::to_string(facts.max_indirection) + "); " + says,
        "register it without indirect keys, and report it");
}

} // namespace

Error explain(const KeyFacts& facts)
{
    const Refusal& refusal = facts.refusal;
    if (refusal.syndrome == offset_disagrees)
        return report(EINVAL, Trouble::data, facts,
                      "the key's begin and its place in the pinned memory disagree modulo the page size; " +
                          firmware_says(refusal),
                      "report it: planner and kernel chose different page sizes");
    if (refusal.syndrome == below_lacks_atomics)
        return report(EOPNOTSUPP, Trouble::unsupported, facts,
                      "a key over others has no atomics unless those have; " + firmware_says(refusal),
                      "register it without remote atomics, or without indirect keys");
    switch (Status{refusal.status}) {
    case Status::lim:
        return key_limit(facts);
    case Status::no_res:
        return report(ENOMEM, Trouble::unsupported, facts, "the device has no more tables; " + firmware_says(refusal),
                      "deregister some regions, or use memory that needs fewer entries");
    case Status::bad_param:
    case Status::bad_inp_len:
        if (facts.indirect)
            return bad_indirect_key(facts);
        break;
    default:
        break;
    }
    if (refusal.syndrome == no_more_keys)
        return key_limit(facts);
    // A kernel that does not hand the firmware's status on puts it into its own words.
    if (refusal.status == 0 && refusal.error == ENOMEM)
        return report(ENOMEM, Trouble::unsupported, facts, "the device's keys (max_mr), or the kernel's memory",
                      "deregister some regions, or free memory");
    return report(refusal.error, Trouble::internal, facts, firmware_says(refusal),
                  "look at the kernel's log (dmesg), which has the command, or register by the way memory_region");
}

} // namespace mrz::mlx5
