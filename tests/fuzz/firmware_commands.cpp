// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Commands in and out of order, well-formed or not, over a real engine: each ends with a status, and a reset leaves
//! nothing.
#include "input.hpp"

#include "firmware/firmware.hpp"
#include "layouts/command.hpp"
#include "layouts/life.hpp"
#include "layouts/memory.hpp"

#include <mrzone/base.hpp>

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

using namespace mrz;
using namespace mrz::firmware;
using mrz::fuzz::Input;

namespace {

class NoMemory final : public dma::Bus {
  public:
    std::span<std::byte> memory(DmaAddress, std::uint64_t, hca::Direction) noexcept override { return {}; }
};

hca::HcaOptions small_engine()
{
    hca::HcaOptions options;
    options.keys = {.keys = 32, .translations = 256, .max_page_shift = 63, .max_nesting = 3};
    options.max_pds = 8;
    return options;
}

Settings some_settings(Input& input)
{
    Settings settings;
    const std::uint8_t byte = input.byte();
    settings.link = byte % 2 == 0 ? LinkType::infiniband : LinkType::ethernet;
    settings.umr_modifies_entity_size = byte / 2 % 2 == 0;
    settings.log_max_uctx = 3;
    settings.log_max_umem = 4;
    settings.bar_bytes = 2U << 20;
    return settings;
}

class Target {
  public:
    explicit Target(Input input) : input_{input}, firmware_{engine_, memory_, some_settings(input_)}
    {
        for (const auto& [opcode, handler] : firmware_.commands().all())
            opcodes_.push_back(opcode);
        // So that most inputs get past the beginning.
        if (input_.byte() % 8 != 0) {
            give(0x104);
            give(0x102);
        }
    }

    void run()
    {
        while (!input_.empty()) {
            switch (input_.byte() % 16) {
            case 0:
                if (input_.byte() % 8 == 0)
                    firmware_.reset();
                break;
            case 1:
                change_key();
                break;
            case 2:
                registers();
                break;
            default:
                command();
            }
        }
        firmware_.reset();
        fuzz::require(firmware_.context().objects.count() == 0);
        const hca::HcaCounters counters = engine_.counters();
        fuzz::require(counters.keys == 0 && counters.translations == 0);
    }

  private:
    void give(std::uint16_t opcode)
    {
        std::vector<std::byte> in(16);
        std::vector<std::byte> out(16);
        layouts::set(in, layouts::command_in::opcode, opcode);
        firmware_.commands().run(in, out);
    }

    void command()
    {
        const std::uint16_t opcode = input_.byte() % 32 == 0 ? static_cast<std::uint16_t>(input_.number(2))
                                                             : opcodes_[input_.below(opcodes_.size())];
        const bool exact = input_.byte() % 8 != 0;
        std::vector<std::byte> in(exact ? 512 : 16 + input_.number(1));
        std::vector<std::byte> out(exact ? 512 : 16 + input_.number(1));
        layouts::set(in, layouts::command_in::opcode, opcode);
        layouts::set(in, layouts::command_in::op_mod, input_.byte());
        layouts::set(in, layouts::command_in::uid, input_.byte() % 4 == 0 ? input_.byte() % 8 : 0);
        // A few bytes anywhere, and small numbers where objects are named.
        layouts::set(in, {72, 24}, input_.byte() % 8);
        for (unsigned count = input_.byte() % 24; count > 0; --count)
            in[input_.below(in.size())] = static_cast<std::byte>(input_.byte());
        layouts::set(in, layouts::command_in::opcode, opcode);
        std::ranges::fill(out, std::byte{0xee});
        firmware_.commands().run(in, out);
        const auto status = static_cast<Status>(layouts::get(out, layouts::command_out::status));
        fuzz::require(to_string(status) != "?");
        fuzz::require(status != Status::internal_error);
    }

    void change_key()
    {
        std::array<std::byte, 64> mkc{};
        for (unsigned count = input_.byte() % 24; count > 0; --count)
            mkc.at(input_.byte() % 64) = static_cast<std::byte>(input_.byte());
        std::vector<std::byte> translations(16 * (input_.byte() % 8));
        for (std::byte& byte : translations)
            byte = static_cast<std::byte>(input_.byte());
        KeyChange change;
        change.index = static_cast<std::uint32_t>(input_.byte() % 40);
        change.expect = static_cast<KeyChange::Expect>(input_.byte() % 3);
        change.mask = input_.number(8) & (input_.byte() % 4 == 0 ? ~0ULL : 0x0000'8000'22be'61c3ULL);
        change.mkc = mkc;
        change.translation_offset = input_.address();
        change.translations = translations;
        try {
            firmware_.keys().change(change);
        } catch (const Refusal&) {
        } catch (const Error&) {
        }
        for (const auto& shown : firmware_.keys().shown(4))
            fuzz::require(engine_.query_mkey(shown.key).free == shown.context.free());
    }

    void registers()
    {
        std::array<std::byte, 16> bytes{};
        for (std::byte& byte : bytes)
            byte = static_cast<std::byte>(input_.byte());
        const std::uint64_t offset = input_.number(2) % (InitializationSegment::bytes - bytes.size());
        const std::span access = std::span{bytes}.first(1 + input_.byte() % bytes.size());
        if (input_.byte() % 2 == 0)
            firmware_.read(offset, access);
        else
            firmware_.write(offset, access);
    }

    Input input_;
    NoMemory memory_;
    hca::Hca engine_{memory_, small_engine()};
    Firmware firmware_;
    std::vector<std::uint16_t> opcodes_;
};

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    set_log_sink([](Severity, std::string_view) {});
    Target{{data, size}}.run();
    return 0;
}
