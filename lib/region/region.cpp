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

Plan plan_for(std::span<const std::byte> memory, const PlanOptions& options, const Device& device)
{
    const std::optional<Layout> layout = read_layout(memory, device.dma_view());
    if (!layout)
        throw Error{EPERM,
                    {.trouble = Trouble::permission,
                     .what = "planning a region of " + naming(memory),
                     .limit = "frames cannot be read (CAP_SYS_ADMIN)",
                     .remedy = "run as root, or grant CAP_SYS_ADMIN"}};
    return make_optimal_plan(*layout, options, device.limits());
}

//! What the device should say of a plan.
std::vector<BuiltKey> expected(const Plan& plan)
{
    std::vector<BuiltKey> keys;
    for (const PlannedKey& key : plan.keys)
        keys.push_back(
            {.iova = key.iova, .length = key.length, .page_shift = key.page_shift, .entries = key.entries});
    if (plan.indirect)
        keys.push_back({.iova = plan.indirect->iova,
                        .length = plan.bytes,
                        .page_shift = plan.indirect->entry_shift.value_or(PageShift{12}),
                        .entries = plan.indirect->entries.size(),
                        .indirect = plan.indirect->kind});
    return keys;
}

bool same(const BuiltKey& a, const BuiltKey& b)
{
    return a.iova == b.iova && a.length == b.length && a.entries == b.entries && a.indirect == b.indirect &&
           (a.page_shift == b.page_shift || a.indirect == IndirectKind::klm);
}

std::string describe(const BuiltKey& key)
{
    std::string text = std::to_string(key.entries) + " entries";
    if (key.indirect != IndirectKind::klm)
        text += " of " + format_size(key.page_shift.bytes());
    if (key.indirect)
        text += " (" + std::string{to_string(*key.indirect)} + ')';
    return text + " for " + format_size(key.length) + " at " + format_hex(key.iova.value());
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
    const std::vector<BuiltKey> wanted = expected(plan);
    if (built.size() != wanted.size())
        refuse("planned were " + std::to_string(wanted.size()) + " keys, and built " + std::to_string(built.size()));
    for (std::size_t i = 0; i < built.size(); ++i)
        if (!same(wanted[i], built[i]))
            refuse("planned were " + describe(wanted[i]) + ", and built " + describe(built[i]));
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
    LookUp::Listing listing; // goes first: what is found is registered
};

Region Domain::register_memory(std::span<std::byte> memory, Access access, const RegionOptions& options) const
{
    check_access(access);
    // Refuses a range that is none, before anything is touched.
    static_cast<void>(read_layout(memory, DmaView::virtual_addresses));
    auto state = std::make_unique<Region::State>(state_, memory, access);
    const Iova iova = options.iova.value_or(Iova{reinterpret_cast<std::uintptr_t>(memory.data())});
    // An indirect key could do without, but no key would be the same on devices that have none.
    if (((iova.value() ^ reinterpret_cast<std::uintptr_t>(memory.data())) & 4095) != 0)
        throw Error{
            EINVAL,
            {.trouble = Trouble::invalid,
             .what = "registering " + naming(memory) + " for a key's space from " + format_hex(iova.value()) + " on",
             .limit = "the two addresses differ in their low 12 bits",
             .remedy = "choose an iova that agrees with the memory's address in these bits"}};
    populate(memory);
    state->plan =
        plan_for(memory, {.iova = iova, .indirect = options.indirect, .weights = options.weights}, state_->device());
    state->registered = state_->domain().register_memory({.address = memory.data(),
                                                          .length = memory.size(),
                                                          .iova = iova,
                                                          .access = access,
                                                          .options = options.how,
                                                          .plan = &state->plan});
    state->built = state->registered->query();
    if (state->built)
        compare(state->plan, *state->built);
    const std::uintptr_t address = reinterpret_cast<std::uintptr_t>(memory.data());
    if (iova.value() == address)
        state->listing =
            state_->look_up().list(address, memory.size(), state->registered->lkey(), access, options.lasting);
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
    return state_->plan.indirect ? state_->plan.indirect->iova : state_->plan.keys.front().iova;
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
