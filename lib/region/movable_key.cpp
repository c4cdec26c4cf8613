// SPDX-License-Identifier: BSD-3-Clause
#include <mrzone/movable_key.hpp>

#include "region_state.hpp"

#include <algorithm>
#include <cerrno>
#include <string>
#include <utility>
#include <vector>

namespace mrz {
namespace {

constexpr const char* making = "making a movable key";
constexpr const char* leading = "leading a movable key to memory";

[[noreturn]] void refuse(int error, std::string what, std::string limit, std::string remedy)
{
    throw Error{error,
                {.trouble = Trouble::invalid,
                 .what = std::move(what),
                 .limit = std::move(limit),
                 .remedy = std::move(remedy)}};
}

const MovableKeyOptions& checked(const MovableKeyOptions& options)
{
    if (!has_remote_right(options.access) || (options.access & remote_rights) != options.access)
        refuse(EINVAL, making, "it is for peers, and is to grant " + to_string(options.access),
               "ask for remote rights only, one at least");
    if (options.entries == 0)
        refuse(EINVAL, making, "it has no entries", "ask for as many as parts of memory that it shall lead to");
    return options;
}

void check_within(const Region& region, std::span<const std::byte> memory)
{
    const auto begin = reinterpret_cast<std::uintptr_t>(memory.data());
    const auto start = reinterpret_cast<std::uintptr_t>(region.bytes().data());
    const std::size_t length = region.bytes().size();
    if (memory.empty())
        refuse(EINVAL, leading, "a part has no bytes", "name memory that is there");
    if (begin < start || memory.size() > length || begin - start > length - memory.size())
        refuse(EINVAL, leading,
               format_size(memory.size()) + " at " + format_hex(begin) + " is not within the region of " +
                   format_size(length) + " at " + format_hex(start),
               "name a part of the region's bytes");
}

void check_rights(const Region& region, Access access)
{
    const bool writes = grants(access, Access::remote_write) || grants(access, Access::remote_atomic);
    if (writes && !grants(region.access(), Access::local_write))
        refuse(EACCES, leading,
               "peers could write (" + to_string(access) + ") where the region only grants " +
                   to_string(region.access()),
               "register the region with local write");
    // UCX met a firmware that takes no atomics over keys below which writes may be reordered (pull request 8218).
    if (grants(access, Access::remote_atomic) && region.ordering() != Ordering::strict)
        refuse(EACCES, leading, "the key grants atomics, and the region may let the device reorder writes",
               "register the region with strict ordering");
}

} // namespace

struct MovableKey::State {
    State(std::shared_ptr<DomainState> domain, const MovableKeyOptions& wanted)
        : tenant{std::move(domain), "movable key"}, options{checked(wanted)},
          longest{tenant.state()->device().limits().indirect.max_klm_bytes}
    {
        entry.key = tenant.state()->domain().create_movable_key(options.access, options.entries);
        keys().add();
    }
    State(const State&) = delete;
    State& operator=(const State&) = delete;
    ~State()
    {
        if (tenant.state()->is_ours())
            keys().remove(entry);
    }

    [[nodiscard]] MovableKeys& keys() const noexcept { return tenant.state()->movable_keys(); }

    Tenant tenant; // goes after what it stands for
    MovableKeyOptions options;
    std::uint64_t longest; // bytes of an entry
    MovableKeys::Entry entry;
};

MovableKey::MovableKey(const Domain& domain, const MovableKeyOptions& options)
    : state_{std::make_unique<State>(domain.state_, options)}
{
}
MovableKey::MovableKey(MovableKey&&) noexcept = default;
MovableKey& MovableKey::operator=(MovableKey&&) noexcept = default;
MovableKey::~MovableKey() = default;

RemoteRegion MovableKey::lead_to(const Region& region, std::span<const std::byte> memory)
{
    const RegionPart part{region, memory};
    return lead_to({&part, 1});
}

RemoteRegion MovableKey::lead_to(std::span<const RegionPart> parts)
{
    state_->tenant.state()->require_ours(leading);
    if (parts.empty())
        refuse(EINVAL, leading, "there are no parts", "name one at least, or lead it nowhere");
    RemoteRegion remote{.iova = Iova{reinterpret_cast<std::uintptr_t>(parts.front().memory.data())},
                        .access = state_->options.access,
                        .page_shift = PageShift{63}};
    std::vector<KeyPart> entries;
    std::vector<const RegisteredMemory*> memories;
    for (const RegionPart& part : parts) {
        const Region& region = part.region;
        if (region.domain() != domain())
            refuse(EINVAL, leading, "a region is of another domain", "register the memory in the key's domain");
        check_within(region, part.memory);
        check_rights(region, state_->options.access);
        Iova iova = region.iova() + static_cast<std::uint64_t>(part.memory.data() - region.bytes().data());
        for (std::uint64_t left = part.memory.size(); left != 0;) {
            const std::uint64_t length = std::min(left, state_->longest);
            entries.push_back({.lkey = region.lkey(), .iova = iova, .length = length});
            iova = iova + length;
            left -= length;
        }
        memories.push_back(region.state_->registered.get());
        remote.length += part.memory.size();
        for (const PlannedKey& key : region.plan().keys)
            remote.page_shift = std::min(remote.page_shift, key.page_shift);
    }
    if (entries.size() > state_->options.entries)
        throw Error{E2BIG,
                    {.trouble = Trouble::unsupported,
                     .what = leading,
                     .limit = "the entries that the key was made with, one for each part and each 2 GiB of it,",
                     .present = state_->options.entries,
                     .need = entries.size(),
                     .remedy = "make it with more (option entries)"}};
    if (remote.iova.value() + (remote.length - 1) < remote.iova.value())
        refuse(EINVAL, leading, "the parts together wrap around the key's space",
               "begin with a part of a lower address");
    return state_->keys().lead_to(state_->entry, remote, entries, memories);
}

void MovableKey::lead_nowhere()
{
    state_->tenant.state()->require_ours("leading a movable key nowhere");
    state_->keys().lead_nowhere(state_->entry);
}

std::optional<RemoteRegion> MovableKey::remote() const
{
    state_->tenant.state()->require_ours("describing a movable key");
    return state_->keys().remote(state_->entry);
}

Access MovableKey::access() const noexcept
{
    return state_->options.access;
}

Domain MovableKey::domain() const noexcept
{
    return Domain{state_->tenant.state()};
}

} // namespace mrz
