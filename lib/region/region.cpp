// SPDX-License-Identifier: BSD-3-Clause
#include <mrzone/region.hpp>

#include "domain_state.hpp"
#include "populate.hpp"
#include "region_state.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <utility>

namespace mrz {
namespace {

std::string naming(std::span<const std::byte> memory)
{
    return format_size(memory.size()) + " at " + format_hex(reinterpret_cast<std::uintptr_t>(memory.data()));
}

[[noreturn]] void refuse_hidden(std::span<const std::byte> memory)
{
    throw Error{EPERM,
                {.trouble = Trouble::permission,
                 .what = "planning a region of " + naming(memory),
                 .limit = "frames cannot be read (CAP_SYS_ADMIN)",
                 .remedy = "run as root, or grant CAP_SYS_ADMIN"}};
}

Iova iova_of(const RegionRequest& request)
{
    return request.options.iova.value_or(Iova{reinterpret_cast<std::uintptr_t>(request.memory.data())});
}

//! An indirect key could do without, but no key would be the same on devices that have none.
void check_iova(const RegionRequest& request)
{
    const Iova iova = iova_of(request);
    if (((iova.value() ^ reinterpret_cast<std::uintptr_t>(request.memory.data())) & 4095) != 0)
        throw Error{EINVAL,
                    {.trouble = Trouble::invalid,
                     .what = "registering " + naming(request.memory) + " for a key's space from " +
                             format_hex(iova.value()) + " on",
                     .limit = "the two addresses differ in their low 12 bits",
                     .remedy = "choose an iova that agrees with the memory's address in these bits"}};
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

void require_remote_right(Access access, const char* what)
{
    if (!has_remote_right(access))
        throw Error{EACCES,
                    {.trouble = Trouble::invalid,
                     .what = what,
                     .limit = "the region grants peers nothing (" + to_string(access) + ')',
                     .remedy = "register the memory with a remote right"}};
}

} // namespace

std::uint64_t next_generation() noexcept
{
    static std::atomic<std::uint64_t> last = 0;
    return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

Region::State::State(std::shared_ptr<DomainState> domain, std::span<std::byte> memory, Access rights)
    : tenant{std::move(domain), "region of " + naming(memory)}, bytes{memory}, access{rights}
{
}

Region::State::~State()
{
    if (registered && tenant.state()->is_ours())
        tenant.state()->movable_keys().ends(*registered);
}

void Region::State::count(Tier tier) noexcept
{
    tenant.count(tier, {.regions = 1,
                        .bytes = bytes.size(),
                        .pinned_bytes = registered->pinned_bytes(),
                        .keys = plan.keys.size() + (plan.indirect ? 1 : 0),
                        .mtt_entries = plan.mtt_entries(),
                        .indirect_entries = plan.indirect_entries()});
}

void Region::State::announce(const RegionRequest& request)
{
    const auto address = reinterpret_cast<std::uintptr_t>(bytes.data());
    to_be_found = request.options.looked_up && iova_of(request).value() == address;
    if (!to_be_found)
        return;
    LookUp& look_up = tenant.state()->look_up();
    if (!request.options.lasting)
        look_up.wait_until_told();
    listing = look_up.announce(address, bytes.size(), request.options.lasting);
    if (!request.options.lasting)
        look_up.watch(bytes);
}

void Region::State::list()
{
    if (to_be_found)
        tenant.state()->look_up().list(listing, registered->lkey(), access);
}

Region Domain::register_memory(std::span<std::byte> memory, Access access, const RegionOptions& options) const
{
    const RegionRequest request{memory, access, options};
    return std::move(register_all({&request, 1}).front());
}

std::vector<Region> Domain::register_all(std::span<const RegionRequest> requests) const
{
    std::vector<std::span<const std::byte>> memories;
    memories.reserve(requests.size());
    for (const RegionRequest& request : requests) {
        check_access(request.access);
        memories.emplace_back(request.memory);
    }
    // Refuses a range that is none, before anything is touched.
    static_cast<void>(read_layouts(memories, DmaView::virtual_addresses));
    std::vector<std::unique_ptr<Region::State>> states;
    states.reserve(requests.size());
    for (const RegionRequest& request : requests) {
        states.push_back(std::make_unique<Region::State>(state_, request.memory, request.access));
        check_iova(request);
    }
    if (requests.empty())
        return {};
    for (std::size_t i = 0; i < requests.size(); ++i)
        states[i]->announce(requests[i]);
    populate(memories);
    const auto layouts = read_layouts(memories, state_->device().dma_view());
    if (!layouts)
        refuse_hidden(memories.front());
    const Limits limits = state_->device().limits();
    std::vector<RegisterRequest> wanted;
    wanted.reserve(requests.size());
    for (std::size_t i = 0; i < requests.size(); ++i) {
        const RegionOptions& options = requests[i].options;
        RegisterRequest& request = wanted.emplace_back(RegisterRequest{.address = requests[i].memory.data(),
                                                                       .length = requests[i].memory.size(),
                                                                       .iova = iova_of(requests[i]),
                                                                       .access = requests[i].access,
                                                                       .options = options.how});
        Proposal proposal = state_->domain().propose(
            request, (*layouts)[i], {.iova = request.iova, .indirect = options.indirect, .weights = options.weights},
            limits);
        states[i]->plan = std::move(proposal.plan);
        states[i]->remark = std::move(proposal.remark);
        request.plan = &states[i]->plan;
        request.basis = std::move(proposal.basis);
    }
    auto registered = state_->domain().register_many(wanted);
    std::vector<Region> regions;
    regions.reserve(requests.size());
    for (std::size_t i = 0; i < requests.size(); ++i) {
        states[i]->registered = std::move(registered[i]);
        states[i]->built = states[i]->registered->query();
        if (states[i]->built)
            compare(states[i]->plan, *states[i]->built);
        states[i]->count(requests[i].options.tier);
        states[i]->list();
        regions.push_back(Region{std::move(states[i])});
    }
    return regions;
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

RemoteRegion Region::remote() const
{
    require_remote_right(access(), "describing a region to a peer");
    return {.iova = iova(),
            .length = bytes().size(),
            .rkey = rkey(),
            .access = access() & remote_rights,
            .page_shift = std::ranges::min_element(plan().keys, {}, &PlannedKey::page_shift)->page_shift,
            .generation = state_->generation};
}

RemoteRegion Region::reissue()
{
    require_remote_right(access(), "issuing another rkey");
    state_->tenant.state()->require_ours("issuing another rkey");
    static_cast<void>(state_->registered->reissue());
    state_->generation = next_generation();
    return remote();
}

const Plan& Region::plan() const noexcept
{
    return state_->plan;
}

const std::string& Region::remark() const noexcept
{
    return state_->remark;
}

std::optional<Ordering> Region::ordering() const noexcept
{
    return state_->registered->ordering();
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
