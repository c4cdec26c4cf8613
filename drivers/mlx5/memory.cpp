// SPDX-License-Identifier: BSD-3-Clause
#include "memory.hpp"

#include "failure.hpp"
#include "mkey.hpp"
#include "proposal.hpp"
#include "variant.hpp"

#include <verbs/failure.hpp>
#include <verbs/memory.hpp>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace mrz::mlx5 {
namespace {

using Clock = std::chrono::steady_clock;

std::string naming(const DomainFacts& domain, const RegisterRequest& request)
{
    return "registering " + format_size(request.length) + " at " +
           format_hex(reinterpret_cast<std::uintptr_t>(request.address)) + " with device " + domain.context->name();
}

[[noreturn]] void refuse(const DomainFacts& domain, const RegisterRequest& request, Trouble trouble, int error,
                         std::string limit, std::string remedy)
{
    throw Error{error,
                {.trouble = trouble,
                 .what = naming(domain, request),
                 .limit = std::move(limit),
                 .remedy = std::move(remedy)}};
}

void check(const DomainFacts& domain, const RegisterRequest& request)
{
    check_access(request.access);
    const auto address = reinterpret_cast<std::uintptr_t>(request.address);
    if (request.length == 0)
        refuse(domain, request, Trouble::invalid, EINVAL, "it has no bytes", "name a range of memory that is there");
    if (address + (request.length - 1) < address ||
        request.iova.value() + (request.length - 1) < request.iova.value())
        refuse(domain, request, Trouble::invalid, EINVAL, "it wraps around the address space",
               "choose a lower address");
    const Plan* const plan = request.plan;
    if (plan == nullptr || plan->keys.empty() || plan->bytes != request.length ||
        plan->umems.size() != plan->keys.size() || (!plan->indirect && plan->keys.size() != 1) ||
        (plan->indirect ? plan->indirect->iova : plan->keys.front().iova) != request.iova)
        refuse(domain, request, Trouble::invalid, EINVAL, "the plan is not for one key over just this memory",
               "plan it with the limits of this device");
    if (request.options.paging == Paging::on_demand)
        refuse(domain, request, Trouble::unsupported, EOPNOTSUPP, "a umem's pages are pinned",
               "register it by the way memory_region, or pinned");
}

// UCX met a firmware that takes no atomics over keys below which writes may be reordered (pull request 8218).
bool may_relax(const DomainFacts& domain, const RegisterRequest& request)
{
    const bool atomics_below = request.plan->indirect && grants(request.access, Access::remote_atomic);
    if (request.options.ordering != Ordering::relaxed)
        return request.options.ordering == Ordering::best && domain.capabilities.relaxed_ordering_write &&
               !atomics_below;
    if (!domain.capabilities.relaxed_ordering_write)
        refuse(domain, request, Trouble::unsupported, EOPNOTSUPP,
               "the device does not reorder writes (relaxed_ordering_write of its capabilities)",
               "ask for the best ordering, or strict");
    if (atomics_below)
        refuse(domain, request, Trouble::unsupported, EOPNOTSUPP,
               "an indirect key with atomics cannot be over keys with relaxed ordering",
               "ask for the best ordering, or no indirect keys");
    return true;
}

//! What a key is to be for.
struct Rights {
    bool local_read;
    Access access;

    static Rights of_owner(Access all) { return {true, all & Access::local_write}; }
    //! Nothing for the owner, so that who mixes the two keys up is told.
    static Rights of_peers(Access all) { return {false, all & remote_rights}; }
    // Firmware checks, when a key over others is made, that those have its rights (see failure.cpp).
    static Rights of_key_below(Access all) { return {true, all}; }
};

class Mlx5Memory final : public RegisteredMemory {
  public:
    Mlx5Memory(std::shared_ptr<const DomainFacts> domain, const RegisterRequest& request)
        : domain_{std::move(domain)}, request_{request}, plan_{*request.plan}
    {
        relaxed_ = may_relax(*domain_, request);
        const auto begin = Clock::now();
        pin();
        const auto pinned = Clock::now();
        if (plan_.indirect)
            for (std::size_t i = 0; i < plan_.keys.size(); ++i)
                below_.push_back(make_direct(i, Rights::of_key_below(request.access)));
        local_ = make_key(Rights::of_owner(request.access), {});
        if (has_remote_right(request.access))
            remote_ = make_key(Rights::of_peers(request.access), {});
        phases_ = {.pin = pinned - begin, .tables = Clock::now() - pinned};
        // What they were made of is not needed any more, and not the caller's to keep.
        request_.plan = nullptr;
        request_.basis = nullptr;
    }
    Mlx5Memory(const Mlx5Memory&) = delete;
    Mlx5Memory& operator=(const Mlx5Memory&) = delete;
    // Members go in their order from the last on: keys that were given out, those below them, and last the pinning.
    ~Mlx5Memory() override = default;

    [[nodiscard]] LKey lkey() const noexcept override { return LKey{local_->value()}; }
    //! Without a remote right the owner's own: it grants peers nothing.
    [[nodiscard]] RKey rkey() const noexcept override
    {
        const std::scoped_lock guard{reissuing_};
        return RKey{remote_ ? remote_->value() : local_->value()};
    }
    RKey reissue() override
    {
        const std::scoped_lock guard{reissuing_};
        std::optional<std::uint8_t> but;
        if (remote_)
            but = static_cast<std::uint8_t>(remote_->value());
        auto next = make_key(Rights::of_peers(request_.access), but);
        // A key that stays is not taken back, whatever its successor is.
        if (remote_)
            destroy(*remote_);
        remote_ = std::move(next);
        return RKey{remote_->value()};
    }
    [[nodiscard]] std::optional<std::vector<BuiltKey>> query() const override
    {
        const std::scoped_lock guard{reissuing_};
        std::vector<BuiltKey> keys;
        for (const auto& key : below_)
            if (!add(keys, *key, Rights::of_key_below(request_.access)))
                return std::nullopt;
        // Of the two records for the two sides one is told of, once they are seen to be alike.
        if (remote_ && !add(keys, *remote_, Rights::of_peers(request_.access)))
            return std::nullopt;
        if (!add(keys, *local_, Rights::of_owner(request_.access)))
            return std::nullopt;
        if (remote_) {
            const auto last = keys.end() - 1;
            if (last[0] != last[-1])
                refuse(*domain_, request_, Trouble::data, EBADMSG,
                       "the keys for the two sides were built differently", "report it");
            keys.erase(last);
        }
        return keys;
    }
    [[nodiscard]] std::size_t pinned_bytes() const noexcept override
    {
        return verbs::pinned_bytes(request_.address, request_.length);
    }
    [[nodiscard]] RegisterPhases phases() const noexcept override { return phases_; }
    [[nodiscard]] std::optional<Ordering> ordering() const noexcept override
    {
        return relaxed_ ? Ordering::relaxed : Ordering::strict;
    }

  private:
    void pin()
    {
        if (const auto* const shared = dynamic_cast<const SharedPinnings*>(request_.basis.get())) {
            pieces_ = shared->pieces();
            return;
        }
        for (const PlannedKey& key : plan_.keys) {
            const auto pinning = std::make_shared<Pinning>(
                domain_->context, PinRequest{.memory = {request_.address + key.offset, key.length},
                                             .key = key,
                                             .writes = grants(request_.access, Access::local_write),
                                             .view = domain_->view});
            check_frames(*pinning, key);
            if (request_.options.sharing != Sharing::never)
                domain_->pinnings->add(pinning);
            pieces_.push_back({pinning, key.offset, key.length});
        }
    }
    //! Between planning and pinning pages may have been moved. Where larger ones fit now, the planned ones do, too.
    void check_frames(const Pinning& pinning, const PlannedKey& key) const
    {
        if (!pinning.layout())
            return;
        const Plan now = make_plan(*pinning.layout(), key.iova, domain_->limits);
        if (now.keys.front().page_shift < key.page_shift)
            refuse(*domain_, request_, Trouble::data, ESTALE,
                   "frames moved between planning and pinning: what fitted pages of " +
                       format_size(key.page_shift.bytes()) + " fits no larger pages than " +
                       format_size(now.keys.front().page_shift.bytes()),
                   "register again");
    }

    [[nodiscard]] MkeySpec spec(Iova start, std::uint64_t length, Rights rights, std::uint8_t variant) const
    {
        return {.pd = domain_->pd,
                .start = start,
                .length = length,
                .local_read = rights.local_read,
                .access = rights.access,
                .relaxed_write = relaxed_,
                .relaxed_read = relaxed_ && domain_->capabilities.relaxed_ordering_read,
                .variant = variant};
    }
    [[nodiscard]] std::unique_ptr<Mkey> make_direct(std::size_t index, Rights rights,
                                                    std::optional<std::uint8_t> but = {}) const
    {
        const PlannedKey& key = plan_.keys[index];
        const PinnedPiece& piece = pieces_[index];
        const std::uint8_t variant = random_variant(but);
        const auto offset =
            static_cast<std::uint64_t>(request_.address + piece.offset - piece.pinning->memory().data());
        return make(create_direct_mkey(spec(key.iova, key.length, rights, variant), piece.pinning->umem_id(), offset),
                    variant);
    }
    //! A key over everything.
    [[nodiscard]] std::unique_ptr<Mkey> make_key(Rights rights, std::optional<std::uint8_t> but) const
    {
        if (!plan_.indirect)
            return make_direct(0, rights, but);
        std::vector<MkeyEntry> entries;
        entries.reserve(plan_.indirect->entries.size());
        for (const IndirectEntry& entry : plan_.indirect->entries)
            entries.push_back({.length = static_cast<std::uint32_t>(entry.length),
                               .mkey = below_[entry.key]->value(),
                               .iova = plan_.leads_to(entry)});
        const std::uint8_t variant = random_variant(but);
        return make(create_indirect_mkey(spec(plan_.indirect->iova, plan_.bytes, rights, variant), entries,
                                         plan_.indirect->entry_shift),
                    variant);
    }
    [[nodiscard]] std::unique_ptr<Mkey> make(const Command& command, std::uint8_t variant) const
    {
        try {
            return std::make_unique<Mkey>(domain_->context, command, variant);
        } catch (const Refusal& refusal) {
            throw failure(refusal);
        }
    }
    void destroy(Mkey& key) const
    {
        try {
            key.destroy();
        } catch (const Refusal& refusal) {
            throw Error{refusal.error,
                        {.trouble = Trouble::internal,
                         .what = "taking back an rkey of device " + domain_->context->name(),
                         .limit = std::string{"the kernel, or the firmware: "} + std::strerror(refusal.error),
                         .remedy = "look at the kernel's log (dmesg); the old key works as before"}};
        }
    }
    [[nodiscard]] Error failure(const Refusal& refusal) const
    {
        // A control group's limit on objects, which each key is, as each umem: the kernel says it without the
        // firmware.
        if (refusal.status == 0 && refusal.error == EAGAIN)
            return verbs::registration_failure(EAGAIN, *domain_->context, request_.address, request_.length,
                                               grants(request_.access, Access::local_write), false);
        const ibv_device_attr& attributes = domain_->context->attributes().orig_attr;
        return explain({.what = naming(*domain_, request_),
                        .refusal = refusal,
                        .indirect = plan_.indirect.has_value(),
                        .entries = plan_.indirect_entries(),
                        .max_entries = domain_->limits.indirect.max_entries.value_or(0),
                        .max_indirection = domain_->capabilities.max_indirection,
                        .max_mr = attributes.max_mr > 0 ? static_cast<std::uint64_t>(attributes.max_mr) : 0});
    }
    //! False if the device does not tell. Throws Error (data, EBADMSG) if the rights are not those asked for.
    bool add(std::vector<BuiltKey>& keys, const Mkey& key, Rights rights) const
    {
        std::optional<MkeyInfo> info;
        try {
            info = key.query();
        } catch (const Refusal& refusal) {
            throw failure(refusal);
        }
        if (!info) {
            log_once(Severity::info, "mlx5: device " + domain_->context->name() +
                                         " does not tell the page size of keys over umems, so what it built is not "
                                         "compared with plans");
            return false;
        }
        if (info->access != rights.access || info->local_read != rights.local_read)
            refuse(*domain_, request_, Trouble::data, EBADMSG,
                   "the device granted " + to_string(info->access) + " where " + to_string(rights.access) +
                       " was asked for",
                   "report it");
        // Lists are filled up to a multiple of four.
        if (const std::uint64_t planned = plan_.indirect_entries();
            info->built.indirect && info->built.entries == listed_entries(planned))
            info->built.entries = planned;
        keys.push_back(info->built);
        return true;
    }

    std::shared_ptr<const DomainFacts> domain_;
    RegisterRequest request_;
    Plan plan_;
    bool relaxed_ = false;
    std::vector<PinnedPiece> pieces_;
    std::vector<std::unique_ptr<Mkey>> below_;
    std::unique_ptr<Mkey> local_;
    std::unique_ptr<Mkey> remote_;
    mutable std::mutex reissuing_;
    RegisterPhases phases_;
};

} // namespace

std::unique_ptr<RegisteredMemory> register_memory(const std::shared_ptr<const DomainFacts>& domain,
                                                  const RegisterRequest& request)
{
    check(*domain, request);
    return std::make_unique<Mlx5Memory>(domain, request);
}

} // namespace mrz::mlx5
