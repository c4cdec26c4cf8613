// SPDX-License-Identifier: BSD-3-Clause
#include "devx.hpp"

#include <infiniband/mlx5dv.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

namespace mrz::mlx5 {
namespace {

//! libmlx5 tells of an error by its number, and some releases put the firmware's status into other words; the answer
//! has it as it came.
Refusal refusal(int error, std::span<const std::byte> answer)
{
    return {.error = error == 0 ? EIO : error,
            .status = static_cast<std::uint8_t>(layouts::get(answer, layouts::command_out::status)),
            .syndrome = static_cast<std::uint32_t>(layouts::get(answer, layouts::command_out::syndrome))};
}

} // namespace

Command::Command(std::uint16_t opcode, std::size_t bytes) : bytes_(bytes)
{
    set(layouts::command_in::opcode, opcode);
}

std::vector<std::byte> run(const verbs::Context& context, const Command& command, std::size_t answer)
{
    std::vector<std::byte> out(answer);
    const std::span<const std::byte> in = command.bytes();
    if (const int error = ::mlx5dv_devx_general_cmd(context.get(), in.data(), in.size(), out.data(), out.size());
        error != 0)
        throw refusal(error, out);
    return out;
}

Object::Object(std::shared_ptr<verbs::Context> context, const Command& command, std::size_t answer)
    : context_{std::move(context)}, answer_(answer)
{
    const std::span<const std::byte> in = command.bytes();
    errno = 0;
    object_ = ::mlx5dv_devx_obj_create(context_->get(), in.data(), in.size(), answer_.data(), answer_.size());
    if (object_ == nullptr)
        throw refusal(errno, answer_);
}

Object::~Object()
{
    if (object_ == nullptr || !context_->is_ours())
        return;
    if (const int error = ::mlx5dv_devx_obj_destroy(object_); error != 0)
        log(Severity::error,
            "mlx5: an object of " + context_->name() + " could not be destroyed: " + std::strerror(error));
}

void Object::destroy()
{
    if (const int error = ::mlx5dv_devx_obj_destroy(object_); error != 0)
        throw refusal(error, {});
    object_ = nullptr;
}

std::vector<std::byte> Object::query(const Command& command, std::size_t answer) const
{
    std::vector<std::byte> out(answer);
    const std::span<const std::byte> in = command.bytes();
    if (const int error = ::mlx5dv_devx_obj_query(object_, in.data(), in.size(), out.data(), out.size()); error != 0)
        throw refusal(error, out);
    return out;
}

} // namespace mrz::mlx5
