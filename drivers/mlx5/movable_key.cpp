// SPDX-License-Identifier: BSD-3-Clause
#include "movable_key.hpp"

#include "failure.hpp"
#include "variant.hpp"

#include <verbs/failure.hpp>

#include <cerrno>
#include <exception>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace mrz::mlx5 {
namespace {

class Mlx5MovableKey final : public MovableRKey {
  public:
    Mlx5MovableKey(std::shared_ptr<const DomainFacts> domain, std::shared_ptr<Requester> requester, Access access,
                   std::size_t entries)
        : domain_{std::move(domain)}, requester_{std::move(requester)}, access_{access}, entries_{entries}
    {
        requester_->prepare();
        make();
    }
    Mlx5MovableKey(const Mlx5MovableKey&) = delete;
    Mlx5MovableKey& operator=(const Mlx5MovableKey&) = delete;
    ~Mlx5MovableKey() override
    {
        if (domain_->context->is_ours()) // else it is the parent's
            forget();
    }

    RKey lead_to(Iova iova, std::span<const KeyPart> parts) override
    {
        std::vector<MkeyEntry> entries;
        entries.reserve(parts.size());
        Filling filling{.start = iova, .small_fence = domain_->capabilities.small_fence_suffices};
        for (const KeyPart& part : parts) {
            entries.push_back(
                {.length = static_cast<std::uint32_t>(part.length), .mkey = part.lkey.value, .iova = part.iova});
            filling.length += part.length;
        }
        filling.entries = entries;
        const std::scoped_lock guard{mutex_};
        if (!mkey_)
            make();
        filling.mkey = value_;
        filling.variant = random_variant(given_);
        try {
            requester_->fill(filling, leads_);
        } catch (...) {
            leads_ = true; // perhaps
            forget();
            throw;
        }
        leads_ = true;
        value_ = (value_ & ~std::uint32_t{0xff}) | filling.variant;
        given_ = filling.variant;
        return RKey{value_};
    }
    void lead_nowhere() noexcept override
    {
        const std::scoped_lock guard{mutex_};
        if (!leads_)
            return;
        try {
            requester_->try_to_free(value_);
            leads_ = false;
        } catch (const std::exception& error) {
            forget();
            // Two lines: to make one of them takes memory, and that there is none may be why.
            log(Severity::warning, "mlx5: a movable key is made anew, since it could not be changed:");
            log(Severity::warning, error.what());
        }
    }

  private:
    void make()
    {
        const std::uint8_t variant = random_variant();
        const MkeySpec spec{.pd = domain_->pd, .local_read = false, .access = access_, .variant = variant};
        try {
            mkey_.emplace(domain_->context, create_movable_mkey(spec, entries_), variant);
        } catch (const Refusal& refusal) {
            throw failure(refusal);
        }
        value_ = mkey_->value();
    }
    //! Its end is a command, which needs no queue pair; where that is refused, at least it is to lead nowhere. The
    //! next memory gets another key.
    void forget() noexcept
    {
        try {
            if (mkey_ && leads_)
                mkey_->destroy();
        } catch (const Refusal& refusal) {
            try {
                if (refusal.error !=
                    EIO) // the kernel's word for an adapter that is gone, which ends no request either
                    requester_->free(value_);
            } catch (const std::exception& error) {
                log(Severity::error, error.what());
            }
        }
        mkey_.reset(); // says so if it cannot be ended
        leads_ = false;
    }
    [[nodiscard]] Error failure(const Refusal& refusal) const
    {
        // A control group's limit on objects: the kernel says it without the firmware.
        if (refusal.status == 0 && refusal.error == EAGAIN)
            return verbs::object_failure(EAGAIN, *domain_->context, "making a movable key of");
        const ibv_device_attr& attributes = domain_->context->attributes().orig_attr;
        return explain({.what = "making a movable key of device " + domain_->context->name(),
                        .refusal = refusal,
                        .indirect = true,
                        .entries = entries_,
                        .max_entries = domain_->limits.indirect.max_entries.value_or(0),
                        .max_indirection = domain_->capabilities.max_indirection,
                        .max_mr = attributes.max_mr > 0 ? static_cast<std::uint64_t>(attributes.max_mr) : 0});
    }

    std::shared_ptr<const DomainFacts> domain_;
    std::shared_ptr<Requester> requester_;
    Access access_;
    std::size_t entries_;
    std::mutex mutex_;
    std::optional<Mkey> mkey_; // none after a failure
    std::uint32_t value_ = 0;  // with the variant that it has now
    //! Of the last rkey that a peer may have: whatever key comes next, perhaps of the same index, has another.
    std::optional<std::uint8_t> given_;
    bool leads_ = false;
};

[[noreturn]] void refuse(const DomainFacts& domain, std::string limit)
{
    throw Error{ENOTSUP,
                {.trouble = Trouble::unsupported,
                 .what = "making a movable key of device " + domain.context->name(),
                 .limit = std::move(limit),
                 .remedy = "register the memory that peers are to reach, as a region of its own"}};
}

} // namespace

std::unique_ptr<MovableRKey> create_movable_key(const std::shared_ptr<const DomainFacts>& domain,
                                                std::shared_ptr<Requester> requester, Access access,
                                                std::size_t entries)
{
    const Capabilities& can = domain->capabilities;
    // It is over the keys of regions, which may be over others themselves.
    if (can.max_indirection < 2)
        refuse(*domain, "the device has " + std::to_string(can.max_indirection) +
                            " levels of keys over keys (max_indirection), and it takes 2");
    if (!can.requests_change_indirect_keys)
        refuse(*domain, "the device lets no request change keys over others (umr_indirect_mkey_disabled)");
    if (entries > most_movable_entries)
        throw Error{E2BIG,
                    {.trouble = Trouble::unsupported,
                     .what = "making a movable key of device " + domain->context->name(),
                     .limit = "the entries that a request takes along",
                     .present = most_movable_entries,
                     .need = entries,
                     .remedy = "ask for fewer, or register a region"}};
    return std::make_unique<Mlx5MovableKey>(domain, std::move(requester), access, entries);
}

} // namespace mrz::mlx5
