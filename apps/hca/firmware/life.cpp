// SPDX-License-Identifier: BSD-3-Clause
#include "firmware/life.hpp"

#include "layouts/life.hpp"

#include <mrzone/base.hpp>

#include <algorithm>
#include <string>
#include <vector>

namespace mrz::firmware {

namespace {

using layouts::get;
using layouts::part;
using layouts::set;

//! The interface's steps (ISSI) that are supported: 0 and 1, a bit each.
constexpr std::uint32_t supported_issi = 0x3;

// drivers/net/ethernet/mellanox/mlx5/core/pagealloc.c
enum : std::uint16_t { boot_pages = 1, init_pages = 2, regular_pages = 3 };
enum : std::uint16_t { cannot_give = 0, give_pages = 1, take_pages = 2 };
// mlx5_ifc.h, MLX5_TEARDOWN_HCA_IN_PROFILE_…
enum : std::uint16_t { graceful_close = 0 };

constexpr std::uint64_t page = 4096;

void this_function(std::uint64_t function)
{
    if (function != 0)
        throw Refusal{Status::bad_param, "there is no function " + std::to_string(function)};
}

//! Text of the driver's up to its end, for the log.
std::string text_of(std::span<const std::byte> bytes)
{
    const auto end = std::ranges::find(bytes, std::byte{});
    std::string text;
    for (auto at = bytes.begin(); at != end; ++at)
        text += static_cast<char>(*at);
    return printable(text);
}

void query_adapter(const Command& command)
{
    namespace adapter = layouts::query_adapter_param_block;
    const std::span<std::byte> out = part(command.out, layouts::query_adapter_out::query_adapter_struct);
    set(out, adapter::ieee_vendor_id, 0x0002c9);
    constexpr std::string_view board = "MRZ0000000001";
    std::ranges::transform(board, part(out, adapter::vsd_contd_psid).begin(),
                           [](char c) { return static_cast<std::byte>(c); });
}

} // namespace

Life::Life(const Context& context, std::function<void()> begin, std::function<void()> end)
    : context_{context}, begin_{std::move(begin)}, end_{std::move(end)}
{
}

void Life::add_to(Commands& commands)
{
    namespace l = layouts;
    const auto add = [&](std::uint16_t opcode, std::string_view name, std::size_t least_in, std::size_t least_out,
                         std::function<void(const Command&)> run) {
        commands.add({opcode, name, least_in, least_out, std::move(run), true});
    };
    add(0x104, "ENABLE_HCA", 16, 12, [this](const Command& command) {
        this_function(get(command.in, l::enable_hca_in::function_id));
        if (stage_ != Stage::disabled)
            throw Refusal{Status::bad_sys_state, "it is enabled"};
        stage_ = Stage::enabled;
    });
    add(0x105, "DISABLE_HCA", 16, 12, [this](const Command& command) {
        this_function(get(command.in, l::enable_hca_in::function_id));
        require(Stage::enabled, "it is not enabled");
        if (stage_ == Stage::initialized)
            throw Refusal{Status::bad_sys_state, "TEARDOWN_HCA has to come first"};
        stage_ = Stage::disabled;
        issi_ = 0;
    });
    add(0x10a, "QUERY_ISSI", 16, 16, [this](const Command& command) {
        set(command.out, l::query_issi_out::current_issi, issi_);
        set(command.out, l::query_issi_out::supported_issi_dw0, supported_issi);
    });
    add(0x10b, "SET_ISSI", 16, 12, [this](const Command& command) { set_issi(command); });
    add(0x107, "QUERY_PAGES", 16, 16, [this](const Command& command) { query_pages(command); });
    add(0x108, "MANAGE_PAGES", 16, 16, [this](const Command& command) { manage_pages(command); });
    add(0x102, "INIT_HCA", 12, 12, [this](const Command&) {
        require(Stage::enabled, "ENABLE_HCA has to come first");
        if (stage_ == Stage::initialized)
            throw Refusal{Status::bad_sys_state, "it is initialized"};
        begin_();
        stage_ = Stage::initialized;
    });
    add(0x103, "TEARDOWN_HCA", 16, 12, [this](const Command& command) { teardown(command); });
    add(0x101, "QUERY_ADAPTER", 16, l::query_adapter_out::bytes, query_adapter);
    add(0x10d, "SET_DRIVER_VERSION", 16, 16, [](const Command& command) {
        log(Severity::info, "the driver is " + text_of(part(command.in, l::set_driver_version_in::driver_version)));
    });
    add(0x80d, "NOP", 16, 16, [](const Command&) {});
}

void Life::reset()
{
    stage_ = Stage::disabled;
    issi_ = 0;
    pages_.clear(); // the guest has them back, whatever it does
}

void Life::check(const Handler& handler) const
{
    if (!handler.before_init)
        require(Stage::initialized, "INIT_HCA has to come first");
}

void Life::require(Stage stage, const char* what) const
{
    if (stage_ < stage)
        throw Refusal{Status::bad_sys_state, what};
}

void Life::set_issi(const Command& command)
{
    const std::uint64_t wanted = get(command.in, layouts::set_issi_in::current_issi);
    if (wanted > 15 || (supported_issi >> wanted & 1) == 0)
        throw Refusal{Status::bad_param, "there is no ISSI " + std::to_string(wanted)};
    issi_ = static_cast<std::uint16_t>(wanted);
}

void Life::query_pages(const Command& command) const
{
    this_function(get(command.in, layouts::query_pages_in::function_id));
    std::uint32_t count = 0;
    switch (command.op_mod) {
    case boot_pages:
        count = context_.settings.boot_pages;
        break;
    case init_pages:
        count = context_.settings.init_pages;
        break;
    case regular_pages:
        break;
    default:
        throw Refusal{Status::bad_param, "there are no pages of that sort"};
    }
    set(command.out, layouts::query_pages_out::num_pages, count);
}

void Life::manage_pages(const Command& command)
{
    this_function(get(command.in, layouts::manage_pages_in::function_id));
    const std::uint64_t count = get(command.in, layouts::manage_pages_in::input_num_entries);
    switch (command.op_mod) {
    case cannot_give:
        log(Severity::warning, "the driver has no pages to give");
        return;
    case give_pages:
        give(command, count);
        return;
    case take_pages:
        take(command, count);
        return;
    default:
        throw Refusal{Status::bad_param, "pages are given or taken"};
    }
}

void Life::give(const Command& command, std::uint64_t count)
{
    const auto addresses = part(command.in, layouts::manage_pages_in::pas);
    if (addresses.size() / 8 < count)
        throw Refusal{Status::bad_inp_len, "there are fewer addresses than " + std::to_string(count)};
    if (count > most_pages - pages_.size())
        throw Refusal{Status::lim, "more pages than are needed"};
    std::set<std::uint64_t> given;
    for (std::size_t i = 0; i < count; ++i) {
        const std::uint64_t address = get(addresses.subspan(8 * i, 8), {0, 64});
        if (address % page != 0)
            throw Refusal{Status::bad_param, format_hex(address) + " is no page"};
        if (pages_.contains(address) || !given.insert(address).second)
            throw Refusal{Status::bad_param, "the page " + format_hex(address) + " was given before"};
    }
    pages_.merge(given);
}

void Life::take(const Command& command, std::uint64_t count)
{
    const std::span<std::byte> addresses = part(command.out, layouts::manage_pages_out::pas);
    std::size_t taken = 0;
    while (taken < count && !pages_.empty() && (taken + 1) * 8 <= addresses.size()) {
        set(addresses.subspan(8 * taken, 8), {0, 64}, *pages_.begin());
        pages_.erase(pages_.begin());
        ++taken;
    }
    set(command.out, layouts::manage_pages_out::output_num_entries, taken);
}

void Life::teardown(const Command& command)
{
    require(Stage::initialized, "it is not initialized");
    const std::uint64_t profile = get(command.in, layouts::teardown_hca_in::profile);
    if (profile != graceful_close)
        throw Refusal{Status::bad_param, "it is closed gracefully only, not as " + std::to_string(profile)};
    end_();
    stage_ = Stage::enabled;
}

} // namespace mrz::firmware
