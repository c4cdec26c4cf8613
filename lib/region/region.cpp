// SPDX-License-Identifier: BSD-3-Clause
#include <mrzone/region.hpp>

#include "domain_state.hpp"
#include "populate.hpp"

#include <cerrno>
#include <utility>

namespace mrz {
namespace {

std::string naming(std::span<const std::byte> memory)
{
    return format_size(memory.size()) + " at " + format_hex(reinterpret_cast<std::uintptr_t>(memory.data()));
}

Plan plan_for(std::span<const std::byte> memory, Iova iova, const Device& device)
{
    const std::optional<Layout> layout = read_layout(memory, device.dma_view());
    if (!layout)
        throw Error{EPERM,
                    {.trouble = Trouble::permission,
                     .what = "planning a region of " + naming(memory),
                     .limit = "frames cannot be read (CAP_SYS_ADMIN)",
                     .remedy = "run as root, or grant CAP_SYS_ADMIN"}};
    return make_plan(*layout, iova, device.limits());
}

std::string describe(Iova iova, std::size_t length, PageShift page, std::uint64_t entries)
{
    return std::to_string(entries) + " entries of " + format_size(page.bytes()) + " for " + format_size(length) +
           " at " + format_hex(iova.value());
}

void compare(const Plan& plan, const std::vector<BuiltKey>& built)
{
    const auto refuse = [](std::string limit) {
        throw Error{EBADMSG,
                    {.trouble = Trouble::data,
                     .what = "comparing what the device built with the plan",
                     .limit = std::move(limit),
                     .remedy = "report it: planner and device do not agree"}};
    };
    if (built.size() != plan.keys.size())
        refuse("planned were " + std::to_string(plan.keys.size()) + " keys, and built " +
               std::to_string(built.size()));
    for (std::size_t i = 0; i < built.size(); ++i) {
        const PlannedKey& wanted = plan.keys[i];
        const BuiltKey& got = built[i];
        if (wanted.iova != got.iova || wanted.length != got.length || wanted.page_shift != got.page_shift ||
            wanted.entries != got.entries)
            refuse("planned were " + describe(wanted.iova, wanted.length, wanted.page_shift, wanted.entries) +
                   ", and built " + describe(got.iova, got.length, got.page_shift, got.entries));
    }
}

} // namespace

struct Region::State {
    State(std::shared_ptr<DomainState> domain, std::span<std::byte> memory, Access rights)
        : tenant{std::move(domain), "region of " + naming(memory)}, bytes{memory}, access{rights}
    {
    }

    Tenant tenant; // goes after what it stands for
    std::span<std::byte> bytes;
    Access access;
    Plan plan;
    std::unique_ptr<RegisteredMemory> registered;
    std::optional<std::vector<BuiltKey>> built;
};

Region Domain::register_memory(std::span<std::byte> memory, Access access, const RegionOptions& options) const
{
    check_access(access);
    // Refuses a range that is none, before anything is touched.
    static_cast<void>(read_layout(memory, DmaView::virtual_addresses));
    auto state = std::make_unique<Region::State>(state_, memory, access);
    const Iova iova = options.iova.value_or(Iova{reinterpret_cast<std::uintptr_t>(memory.data())});
    populate(memory);
    state->plan = plan_for(memory, iova, state_->device());
    state->registered = state_->domain().register_memory({.address = memory.data(),
                                                          .length = memory.size(),
                                                          .iova = iova,
                                                          .access = access,
                                                          .options = options.how,
                                                          .plan = &state->plan});
    state->built = state->registered->query();
    if (state->built)
        compare(state->plan, *state->built);
    return Region{std::move(state)};
}

Region::Region(std::unique_ptr<State> state) noexcept : state_{std::move(state)} {}
Region::Region(Region&&) noexcept = default;
Region& Region::operator=(Region&&) noexcept = default;
Region::~Region() = default;

std::span<std::byte> Region::bytes() const noexcept
{
    return state_->bytes;
}

Iova Region::iova() const noexcept
{
    return state_->plan.keys.front().iova;
}

Access Region::access() const noexcept
{
    return state_->access;
}

LKey Region::lkey() const noexcept
{
    return state_->registered->lkey();
}

RKey Region::rkey() const noexcept
{
    return state_->registered->rkey();
}

const Plan& Region::plan() const noexcept
{
    return state_->plan;
}

const std::optional<std::vector<BuiltKey>>& Region::built() const noexcept
{
    return state_->built;
}

std::size_t Region::pinned_bytes() const noexcept
{
    return state_->registered->pinned_bytes();
}

RegisterPhases Region::phases() const noexcept
{
    return state_->registered->phases();
}

Domain Region::domain() const noexcept
{
    return Domain{state_->tenant.state()};
}

} // namespace mrz
