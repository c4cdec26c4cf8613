// SPDX-License-Identifier: BSD-3-Clause
#include "firmware/command.hpp"

#include "layouts/command.hpp"

#include <mrzone/base.hpp>

#include <algorithm>
#include <cerrno>
#include <new>

namespace mrz::firmware {

namespace {

//! What the engine says, in the interface's words.
Status status_of(const Error& error)
{
    switch (error.error_number()) {
    case EINVAL:
        return Status::bad_param;
    case ENOENT:
        return Status::bad_res;
    case EBUSY:
        return Status::res_busy;
    case ENOMEM:
        return Status::no_res;
    case ELOOP:
        return Status::lim;
    default:
        return Status::internal_error;
    }
}

constexpr std::uint16_t shared_resource_uid = 0xffff; // mlx5_ifc.h, MLX5_SHARED_RESOURCE_UID

std::string in_words(const Handler* handler, std::uint16_t opcode, std::uint16_t op_mod, std::uint16_t uid)
{
    std::string text = handler != nullptr ? std::string{handler->name} : "command";
    text += " (" + format_hex(opcode) + ", op_mod " + format_hex(op_mod) + ", uid " + std::to_string(uid) + ")";
    return text;
}

void check_lengths(const Handler& handler, std::size_t in, std::size_t out)
{
    if (in < handler.least_in)
        throw Refusal{Status::bad_inp_len,
                      "its input has " + std::to_string(in) + " bytes and needs " + std::to_string(handler.least_in)};
    if (out < handler.least_out)
        throw Refusal{Status::bad_outp_len, "its output has " + std::to_string(out) + " bytes and needs " +
                                                std::to_string(handler.least_out)};
}

} // namespace

void Commands::add(Handler handler)
{
    const std::uint16_t opcode = handler.opcode;
    if (!handlers_.emplace(opcode, std::move(handler)).second)
        throw std::logic_error{"two handlers for opcode " + format_hex(opcode)};
}

const Handler* Commands::find(std::uint16_t opcode) const
{
    const auto found = handlers_.find(opcode);
    return found == handlers_.end() ? nullptr : &found->second;
}

void Commands::run(std::span<const std::byte> in, std::span<std::byte> out) const noexcept
{
    using namespace layouts;
    std::ranges::fill(out, std::byte{});
    const auto opcode = static_cast<std::uint16_t>(get(in, command_in::opcode));
    const auto op_mod = static_cast<std::uint16_t>(get(in, command_in::op_mod));
    // What the kernel makes for all its users (eq.c, create_map_eq) is the kernel's; nobody else can give this uid.
    const auto given = static_cast<std::uint16_t>(get(in, command_in::uid));
    const std::uint16_t uid = given == shared_resource_uid ? std::uint16_t{0} : given;
    const Handler* const handler = find(opcode);

    const auto refuse = [&](Status status, std::uint32_t syndrome, std::string_view why) noexcept {
        std::ranges::fill(out, std::byte{});
        layouts::set(out, command_out::status, static_cast<std::uint8_t>(status));
        layouts::set(out, command_out::syndrome, syndrome);
        try {
            log(Severity::warning, in_words(handler, opcode, op_mod, uid) + ": " + std::string{to_string(status)} +
                                       (syndrome != 0 ? ", syndrome " + format_hex(syndrome) : std::string{}) + ": " +
                                       std::string{why});
        } catch (const std::bad_alloc&) {
            // The status says it.
        }
    };

    try {
        if (handler == nullptr)
            throw Refusal{Status::bad_op, "there is no such command here"};
        check_lengths(*handler, in.size(), out.size());
        const Command command{opcode, op_mod, uid, in, out};
        if (gate_)
            gate_(*handler, command);
        handler->run(command);
    } catch (const Refusal& refusal) {
        refuse(refusal.status(), refusal.syndrome(), refusal.what());
    } catch (const Error& error) {
        refuse(status_of(error), 0, error.what());
    } catch (const std::bad_alloc&) {
        refuse(Status::no_res, 0, "this process is out of memory");
    } catch (const std::exception& error) {
        refuse(Status::internal_error, 0, error.what());
    }
}

} // namespace mrz::firmware
