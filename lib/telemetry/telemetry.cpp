// SPDX-License-Identifier: BSD-3-Clause
#include <mrzone/telemetry.hpp>

#include "answers.hpp"
#include "socket.hpp"

#include <rte_config.h>
#include <rte_eal.h>
#include <rte_telemetry.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <new>
#include <optional>
#include <string_view>

namespace mrz {
namespace {

using namespace telemetry;

// The text of an answer has 16 KiB (MAX_OUTPUT_LEN in DPDK's lib/telemetry/telemetry.c), of which the command and
// what is around take less than the rest.
constexpr Room room{.fields = RTE_TEL_MAX_DICT_ENTRIES, .bytes = 16000, .word = RTE_TEL_MAX_STRING_LEN - 1};

void add(rte_tel_data* data, const Field& field)
{
    if (const auto* const word = std::get_if<std::string>(&field.value))
        rte_tel_data_add_dict_string(data, field.name.c_str(), word->c_str());
    else
        rte_tel_data_add_dict_u64(data, field.name.c_str(), std::get<std::uint64_t>(field.value));
}

Fields answer_to(std::string_view command, std::string_view parameters)
{
    const auto known = std::ranges::find(commands(), command, &Command::name);
    Fields fields;
    try {
        fields = known->answer(parameters);
    } catch (const Error& error) {
        fields = answer_of(error);
    }
    fit(fields, room);
    return fields;
}

//! Runs in a thread of the EAL. \return whether there is an answer; DPDK's is "null" if not.
int answer(const char* command, const char* parameters, rte_tel_data* data) noexcept
{
    rte_tel_data_start_dict(data);
    try {
        for (const Field& field : answer_to(command, parameters != nullptr ? parameters : ""))
            add(data, field);
    } catch (const std::exception& error) {
        rte_tel_data_start_dict(data);
        rte_tel_data_add_dict_u64(data, "error/errno", ENOMEM);
        rte_tel_data_add_dict_string(data, "error/what", error.what());
    } catch (...) {
        return -EIO;
    }
    return 0;
}

[[noreturn]] void refuse(int error_number, std::string limit, std::string remedy)
{
    throw Error{error_number,
                {.trouble = Trouble::unsupported,
                 .what = "offering telemetry",
                 .limit = std::move(limit),
                 .remedy = std::move(remedy)}};
}

//! Throws Error where there is none.
std::string socket_of_eal()
{
    const std::string folder = rte_eal_get_runtime_dir();
    if (folder.empty()) // which rte_eal_init chooses
        refuse(ENODEV, "no EAL runs", "call rte_eal_init() first; mrzone never does");
    if (std::optional<std::string> path = listening_socket(folder + "/dpdk_telemetry.v2"))
        return *std::move(path);
    if (rte_eal_process_type() == RTE_PROC_SECONDARY)
        refuse(ENOTSUP, "a secondary process of the EAL has no telemetry",
               "offer it in the primary process, which tells of its own objects");
    refuse(ENOTSUP, "the EAL was started without telemetry", "start it without --no-telemetry");
}

} // namespace

std::string offer_telemetry()
{
    std::string path = socket_of_eal();
    static std::mutex mutex;
    static std::size_t registered = 0;
    const std::scoped_lock guard{mutex};
    for (; registered < commands().size(); ++registered) {
        const Command& command = commands()[registered];
        if (const int error = rte_telemetry_register_cmd(command.name, answer, command.help); error != 0)
            throw Error{-error,
                        {.trouble = Trouble::internal,
                         .what = std::string{"offering "} + command.name + " to telemetry",
                         .limit = std::strerror(-error),
                         .remedy = "free memory, and offer it again"}};
    }
    return path;
}

} // namespace mrz
