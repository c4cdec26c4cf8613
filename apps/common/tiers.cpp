// SPDX-License-Identifier: BSD-3-Clause
#include "tiers.hpp"

#include <mrzone/reader.hpp>

#include <algorithm>
#include <cerrno>
#include <string>
#include <vector>

namespace mrz::app {

namespace {

//! Buffers are read from and written to.
constexpr Access access = Access::local_write;

class EachTime final : public Tier {
  public:
    EachTime(const Domain& domain, std::size_t depth) : domain_{domain}, regions_(depth) {}

    void acquire(std::span<Use> uses, std::size_t first) override
    {
        for (Use& use : uses) {
            const Region& region =
                regions_[first++].emplace(domain_.register_memory(use.memory, access, as_ibv_reg_mr));
            use.iova = region.iova();
            use.lkey = region.lkey();
        }
    }
    void release(std::size_t number) noexcept override { regions_[number].reset(); }
    [[nodiscard]] Holdings holdings() const override
    {
        Holdings sum;
        for (const auto& region : regions_)
            if (region) {
                ++sum.keys;
                sum.entries += region->plan().total_entries();
                sum.bytes += region->pinned_bytes();
            }
        return sum;
    }

  private:
    //! No more work than it needs: nobody looks such keys up.
    static constexpr RegionOptions as_ibv_reg_mr{.indirect = false, .looked_up = false};

    Domain domain_;
    std::vector<std::optional<Region>> regions_; // by number
};

class Leasing : public Tier {
  public:
    Leasing(const Domain& domain, const TierOptions& options)
        : leases_(options.depth), cache_{domain,
                                         {.bytes = options.cache_bytes,
                                          .keys = keys_for(options),
                                          .merge_up_to = options.merge_up_to}}
    {
    }

    void acquire(std::span<Use> uses, std::size_t first) override
    {
        for (Use& use : uses)
            keep(use, first++, cache_.lease(use.memory, access));
    }
    void release(std::size_t number) noexcept override { leases_[number].release(); }
    [[nodiscard]] Holdings holdings() const override
    {
        const CacheSnapshot now = cache_.snapshot();
        return {.keys = now.keys, .entries = now.entries, .bytes = now.bytes};
    }
    [[nodiscard]] std::optional<CacheSnapshot> cache() const override { return cache_.snapshot(); }

  protected:
    void keep(Use& use, std::size_t number, Lease lease)
    {
        use.iova = lease.iova();
        use.lkey = lease.lkey();
        leases_[number] = std::move(lease);
    }
    [[nodiscard]] Cache& temporary_regions() noexcept { return cache_; }

  private:
    //! As many as the bytes may be: these are what is compared.
    static std::size_t keys_for(const TierOptions& options)
    {
        return std::clamp<std::size_t>(options.cache_bytes / 4_KiB, 64, 1u << 20);
    }

    std::vector<Lease> leases_; // by number
    Cache cache_;
};

class Batch final : public Leasing {
  public:
    using Leasing::Leasing;

    [[nodiscard]] bool takes_many() const noexcept override { return true; }
    void acquire(std::span<Use> uses, std::size_t first) override
    {
        requests_.clear();
        for (const Use& use : uses)
            requests_.push_back({use.memory, access});
        std::vector<Lease> leases = temporary_regions().lease_all(requests_);
        for (std::size_t i = 0; i < uses.size(); ++i)
            keep(uses[i], first + i, std::move(leases[i]));
    }

  private:
    std::vector<LeaseRequest> requests_;
};

class Resident final : public Tier {
  public:
    Resident(const Domain& domain, const TierOptions& options)
        : region_{domain.register_memory(options.memory, access, {.lasting = options.lasting})}, reader_{domain}
    {
    }

    void acquire(std::span<Use> uses, std::size_t) override
    {
        for (Use& use : uses) {
            const auto key = reader_.lookup(use.memory.data(), use.memory.size());
            if (!key)
                throw Error{ENOENT,
                            {.trouble = Trouble::internal,
                             .what = "looking a key up",
                             .limit = "the region that covers the memory was not found",
                             .remedy = "report it"}};
            use.iova = Iova{reinterpret_cast<std::uintptr_t>(use.memory.data())};
            use.lkey = *key;
        }
    }
    void release(std::size_t) noexcept override {}
    void quiescent() noexcept override { reader_.quiescent(); }
    [[nodiscard]] Holdings holdings() const override
    {
        const Plan& plan = region_.plan();
        return {.keys = plan.keys.size() + (plan.indirect ? 1 : 0),
                .entries = plan.total_entries(),
                .bytes = region_.pinned_bytes()};
    }

  private:
    Region region_;
    Reader reader_;
};

} // namespace

std::string_view name(TierKind kind) noexcept
{
    switch (kind) {
    case TierKind::each_time:
        return "each time";
    case TierKind::temporary:
        return "temporary";
    case TierKind::batch:
        return "batch";
    case TierKind::resident:
        break;
    }
    return "resident";
}

std::unique_ptr<Tier> make_tier(TierKind kind, const Domain& domain, const TierOptions& options)
{
    switch (kind) {
    case TierKind::each_time:
        return std::make_unique<EachTime>(domain, options.depth);
    case TierKind::temporary:
        return std::make_unique<Leasing>(domain, options);
    case TierKind::batch:
        return std::make_unique<Batch>(domain, options);
    case TierKind::resident:
        break;
    }
    return std::make_unique<Resident>(domain, options);
}

} // namespace mrz::app
