// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Commands that a process gives to the firmware of mlx5 (DevX), and the objects that they make.
#pragma once

#include <verbs/context.hpp>

#include <layouts/command.hpp>
#include <layouts/field.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

struct mlx5dv_devx_obj;

namespace mrz::mlx5 {

//! What refused a command: the firmware, if its status is not 0; else the kernel before it.
struct Refusal {
    int error = 0; //!< The errno.
    std::uint8_t status = 0;
    std::uint32_t syndrome = 0;
};

//! A command that is being written.
class Command {
  public:
    Command(std::uint16_t opcode, std::size_t bytes);

    void set(layouts::Field field, std::uint64_t value) { layouts::set(bytes_, field, value); }
    [[nodiscard]] std::span<std::byte> part(layouts::Block block) { return layouts::part(std::span{bytes_}, block); }
    [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return bytes_; }

  private:
    std::vector<std::byte> bytes_;
};

//! Gives a command that makes no object, and returns its answer. Throws Refusal.
std::vector<std::byte> run(const verbs::Context& context, const Command& command, std::size_t answer);

//! An object of the firmware's.
class Object {
  public:
    //! Throws Refusal.
    Object(std::shared_ptr<verbs::Context> context, const Command& command, std::size_t answer);
    Object(const Object&) = delete;
    Object& operator=(const Object&) = delete;
    ~Object();

    //! Ends it now, rather than with this. Throws Refusal, and then it is still there.
    void destroy();
    //! What the firmware answered when it was made.
    [[nodiscard]] std::span<const std::byte> answer() const noexcept { return answer_; }
    //! Throws Refusal.
    [[nodiscard]] std::vector<std::byte> query(const Command& command, std::size_t answer) const;

  private:
    std::shared_ptr<verbs::Context> context_;
    std::vector<std::byte> answer_;
    mlx5dv_devx_obj* object_; //!< None once it was destroyed.
};

} // namespace mrz::mlx5
