// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Movable keys: what peers are given for a while, without registering.
#pragma once

#include <mrzone/base.hpp>
#include <mrzone/region.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <span>

namespace mrz {

//! A part of a region.
struct RegionPart {
    const Region& region;
    std::span<const std::byte> memory; //!< Within the region's bytes; not empty.
};

struct MovableKeyOptions {
    //! What peers may do with whatever it leads to: remote rights only, one at least.
    Access access = Access::remote_read;
    //! Parts of at most 2 GiB each that it can lead to at once; longer ones take several. 1 to 48 on mlx5.
    std::size_t entries = 4;
};

//! A key for peers that leads to parts of regions, and later to others. To make it lead elsewhere neither pins nor
//! registers: with an adapter of mlx5 it is a work request, where a region is several commands to the firmware. So it
//! opens, for a while, exactly the bytes that a peer is to reach in memory that is registered anyway, as an arena is.
//!
//! A region needs no remote rights for that; local write, where peers may write. When a region ends, movable keys
//! that lead to it lead nowhere. Each time that it is made to lead somewhere it has another rkey (its variant byte
//! differs, by chance), so that who kept the one before is refused; one that is older fits once in 255 times.
//!
//! Lives in its domain, which cannot be closed before. Calls are thread-safe; those for keys of one domain wait for
//! each other. In a child of fork() it may only be destroyed, which does nothing to the parent's. What was moved from
//! may only be assigned or destroyed.
class MRZ_API MovableKey {
  public:
    //! Leads nowhere yet. Throws Error: unsupported (ENOTSUP) where the device's driver has no such keys, or in a
    //! child of fork(); invalid (EINVAL) for other than remote rights, or no entries; unsupported (E2BIG) for more
    //! entries than a key may have; invalid (EBADF) for a closed domain; unsupported (ENETDOWN) for an adapter of
    //! mlx5 without a port that is active, since that moves keys by a queue pair; and for key limits as
    //! Domain::register_memory().
    explicit MovableKey(const Domain& domain, const MovableKeyOptions& options = {});
    MovableKey(MovableKey&&) noexcept;
    MovableKey& operator=(MovableKey&&) noexcept;
    ~MovableKey();

    //! Makes it lead to \p parts, one after the other, and to nothing else; the key's space begins at the address of
    //! the first. Returns what a peer is to be given. When it returns no operation reaches by this key what it led to
    //! before, and what a peer was given before is refused. Throws Error, and then nothing has changed: invalid
    //! (EINVAL) for no parts, a part that is empty or not within its region, or a region of another domain; invalid
    //! (EACCES) for a region whose rights do not suffice; unsupported (E2BIG) for more than it has entries. If the
    //! device refuses it throws Error, too, and the key leads nowhere then.
    RemoteRegion lead_to(std::span<const RegionPart> parts);
    RemoteRegion lead_to(const Region& region, std::span<const std::byte> memory);
    RemoteRegion lead_to(const Region& region) { return lead_to(region, region.bytes()); }
    //! When it returns no operation reaches anything by it.
    void lead_nowhere();

    //! What lead_to() returned, or nothing if it leads nowhere.
    [[nodiscard]] std::optional<RemoteRegion> remote() const;
    [[nodiscard]] Access access() const noexcept;
    [[nodiscard]] Domain domain() const noexcept;

  private:
    struct State;
    std::unique_ptr<State> state_;
};

} // namespace mrz
