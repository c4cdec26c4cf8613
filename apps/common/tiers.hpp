// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! How the memory of an operation comes to have a key.
#pragma once

#include <mrzone/cache.hpp>
#include <mrzone/region.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

namespace mrz::app {

enum class TierKind {
    each_time, //!< Registered before the operation, deregistered after it.
    temporary, //!< A lease of a cache.
    batch,     //!< Leases of all that are begun together, in one call.
    resident,  //!< All memory is one region; a reader looks the key up.
};
inline constexpr TierKind all_tiers[] = {TierKind::each_time, TierKind::temporary, TierKind::batch,
                                         TierKind::resident};
std::string_view name(TierKind kind) noexcept;

//! The memory of an operation that is under way.
struct Use {
    std::span<std::byte> memory = {};
    Iova iova = {};
    LKey lkey = {};
};

//! What a tier takes of the device at a moment.
struct Holdings {
    std::uint64_t keys = 0;
    std::uint64_t entries = 0;
    std::uint64_t bytes = 0; //!< That it has the kernel keep in place, as it counts itself.
};

//! Used by one thread.
class Tier {
  public:
    Tier() = default;
    Tier(const Tier&) = delete;
    Tier& operator=(const Tier&) = delete;
    virtual ~Tier() = default;

    //! Whether it does better with several uses at once.
    [[nodiscard]] virtual bool takes_many() const noexcept { return false; }
    //! Gives each of \p uses a key. They are those with the numbers from \p first on. Throws Error.
    virtual void acquire(std::span<Use> uses, std::size_t first) = 0;
    //! The operation with that number has completed.
    virtual void release(std::size_t number) noexcept = 0;
    //! Once a burst.
    virtual void quiescent() noexcept {}
    [[nodiscard]] virtual Holdings holdings() const = 0;
    //! What its cache did; nothing if it has none.
    [[nodiscard]] virtual std::optional<CacheSnapshot> cache() const { return std::nullopt; }
};

struct TierOptions {
    std::span<std::byte> memory = {};
    bool lasting = false;                           //!< Of RegionOptions: the memory is an arena's.
    std::size_t depth = 1;                          //!< The most uses at a time; their numbers are less.
    std::size_t cache_bytes = 0;                    //!< Budget of a cache.
    std::size_t merge_up_to = std::size_t{2} << 20; //!< As CacheOptions'.
};
//! Throws Error.
std::unique_ptr<Tier> make_tier(TierKind kind, const Domain& domain, const TierOptions& options);

} // namespace mrz::app
