// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! A firmware over an engine and memory of its own, and a driver's hand to give it commands.
#pragma once

#include "firmware/firmware.hpp"
#include "layouts/command.hpp"
#include "layouts/domains.hpp"
#include "layouts/life.hpp"
#include "layouts/memory.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

namespace mrz::firmware::test {

//! Memory of a guest at DMA address 4096.
class PlainMemory final : public dma::Bus {
  public:
    static constexpr std::uint64_t base = 4096;

    explicit PlainMemory(std::size_t bytes) : bytes_(bytes) {}

    std::span<std::byte> memory(DmaAddress at, std::uint64_t length, hca::Direction) noexcept override
    {
        if (at.value() < base || at.value() - base >= bytes_.size())
            return {};
        const std::size_t offset = at.value() - base;
        return std::span{bytes_}.subspan(offset, std::min<std::uint64_t>(length, bytes_.size() - offset));
    }
    [[nodiscard]] std::span<std::byte> at(std::uint64_t address, std::size_t length)
    {
        return std::span{bytes_}.subspan(address - base, length);
    }

  private:
    std::vector<std::byte> bytes_;
};

struct Answer {
    Status status = Status::ok;
    std::uint32_t syndrome = 0;
    std::vector<std::byte> out;

    [[nodiscard]] std::uint64_t get(layouts::Field field) const { return layouts::get(out, field); }
};

using Values = std::initializer_list<std::pair<layouts::Field, std::uint64_t>>;

//! The bytes of a command's input.
inline std::vector<std::byte> input(std::uint16_t opcode, std::uint16_t op_mod, std::uint16_t uid, std::size_t bytes,
                                    Values values)
{
    std::vector<std::byte> in(bytes);
    layouts::set(in, layouts::command_in::opcode, opcode);
    layouts::set(in, layouts::command_in::op_mod, op_mod);
    layouts::set(in, layouts::command_in::uid, uid);
    for (const auto& [field, value] : values)
        layouts::set(in, field, value);
    return in;
}

class TheFirmware : public testing::Test {
  protected:
    explicit TheFirmware(Settings settings = {}) : engine_{memory_, options()}, firmware_{engine_, memory_, settings}
    {
        set_log_sink([this](Severity, std::string_view line) { log_ += std::string{line} + "\n"; });
    }
    ~TheFirmware() override { set_log_sink({}); }

    static hca::HcaOptions options()
    {
        hca::HcaOptions options;
        options.keys.keys = 1U << 12;
        options.keys.translations = 1U << 16;
        return options;
    }

    Answer run(const std::vector<std::byte>& in, std::size_t out_bytes = 16)
    {
        Answer answer;
        answer.out.resize(out_bytes);
        firmware_.commands().run(in, answer.out);
        answer.status = static_cast<Status>(answer.get(layouts::command_out::status));
        answer.syndrome = static_cast<std::uint32_t>(answer.get(layouts::command_out::syndrome));
        return answer;
    }
    Answer run(std::uint16_t opcode, Values values = {}, std::size_t in_bytes = 16, std::size_t out_bytes = 16,
               std::uint16_t op_mod = 0, std::uint16_t uid = 0)
    {
        return run(input(opcode, op_mod, uid, in_bytes, values), out_bytes);
    }
    //! Enabled and initialized.
    void begin()
    {
        ASSERT_EQ(run(0x104).status, Status::ok) << log_;
        ASSERT_EQ(run(0x102).status, Status::ok) << log_;
    }
    std::uint32_t make_uctx()
    {
        const Answer answer = run(0xa04, {}, layouts::create_uctx_in::bytes);
        EXPECT_EQ(answer.status, Status::ok) << log_;
        return static_cast<std::uint32_t>(answer.get(layouts::create_uctx_out::uid));
    }
    std::uint32_t make_pd(std::uint16_t uid = 0)
    {
        const Answer answer = run(0x800, {}, 16, 16, 0, uid);
        EXPECT_EQ(answer.status, Status::ok) << log_;
        return static_cast<std::uint32_t>(answer.get(layouts::alloc_pd_out::pd));
    }

    PlainMemory memory_{1U << 20};
    hca::Hca engine_;
    Firmware firmware_;
    std::string log_;
};

} // namespace mrz::firmware::test
